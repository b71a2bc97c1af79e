import java.io.FileOutputStream;
import java.lang.invoke.MethodHandles;

/**
 * Loads and links a class every 10 ms, each time another one of the same bytes, and
 * appends a byte to a file for each of them.
 * Arguments: milliseconds, file.
 */
public final class Load {
    public static void main(String[] args) throws Exception {
        byte[] own = Load.class.getResourceAsStream("Load.class").readAllBytes();
        try (FileOutputStream loads = new FileOutputStream(args[1])) {
            for (long left = Long.parseLong(args[0]); left > 0; left -= 10) {
                MethodHandles.lookup().defineHiddenClass(own, true);
                loads.write('.');
                Thread.sleep(10);
            }
        }
    }
}
