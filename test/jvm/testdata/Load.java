import java.lang.invoke.MethodHandles;

/**
 * Loads and links a class every 10 ms, each time another one of the same bytes.
 * Argument: milliseconds.
 */
public final class Load {
    public static void main(String[] args) throws Exception {
        byte[] own = Load.class.getResourceAsStream("Load.class").readAllBytes();
        for (long left = Long.parseLong(args[0]); left > 0; left -= 10) {
            MethodHandles.lookup().defineHiddenClass(own, true);
            Thread.sleep(10);
        }
    }
}
