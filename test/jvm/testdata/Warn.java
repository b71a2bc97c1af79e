/**
 * Asks for a thread whose stack is larger than any address space (2^47 bytes),
 * every 50 ms, which the JVM warns of. Argument: milliseconds.
 */
public final class Warn {
    public static void main(String[] args) throws InterruptedException {
        for (long left = Long.parseLong(args[0]); left > 0; left -= 50) {
            try {
                new Thread(null, () -> {}, "too large", 1L << 47).start();
            } catch (OutOfMemoryError expected) {
                // Warned of by now, which is all that it was tried for.
            }
            Thread.sleep(50);
        }
    }
}
