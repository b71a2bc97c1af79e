/**
 * Throws exceptions and catches them, which the JVM logs. Arguments: how many,
 * the length of their messages, how many a second.
 */
public final class Throw {
    public static void main(String[] args) throws InterruptedException {
        long count = Long.parseLong(args[0]);
        String filler = "x".repeat(Integer.parseInt(args[1]));
        double rate = Double.parseDouble(args[2]);
        long begun = System.nanoTime();
        for (long i = 0; i < count; i++) {
            try {
                throw new IllegalStateException("number " + i + " of " + count + " " + filler);
            } catch (IllegalStateException expected) {
                // Logged by now: that is why it was thrown.
            }
            double ahead = i / rate - (System.nanoTime() - begun) / 1e9;
            if (ahead > 0.002) {
                Thread.sleep((long) (ahead * 1000));
            }
        }
    }
}
