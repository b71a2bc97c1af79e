/**
 * Asks every 50 ms for a thread whose stack is larger than any address space (2^47 bytes). The JVM warns of that.
 * Argument: milliseconds.
 */
public final class Warn {
    public static void main(String[] args) throws InterruptedException {
        for (long left = Long.parseLong(args[0]); left > 0; left -= 50) {
            try {
                new Thread(null, () -> {}, "too large", 1L << 47).start();
            } catch (OutOfMemoryError expected) {
                // Warned of by now: that is why it was attempted.
            }
            Thread.sleep(50);
        }
    }
}
