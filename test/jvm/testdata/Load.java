import java.io.FileOutputStream;

/**
 * Loads and links a class every 10 ms, each time another one of the same bytes, and
 * appends a byte to a file for each of them.
 * Arguments: milliseconds, file.
 */
public final class Load extends ClassLoader {
    public static void main(String[] args) throws Exception {
        byte[] own = Load.class.getResourceAsStream("Load.class").readAllBytes();
        try (FileOutputStream loads = new FileOutputStream(args[1])) {
            for (long left = Long.parseLong(args[0]); left > 0; left -= 10) {
                Load loader = new Load(); // a class of one name is defined once by each loader
                loader.resolveClass(loader.defineClass("Load", own, 0, own.length));
                loads.write('.');
                Thread.sleep(10);
            }
        }
    }
}
