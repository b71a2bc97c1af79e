/**
 * Allocates at a steady rate, keeps a part of it for a while, and so makes the
 * collector log. Arguments: milliseconds, megabytes a second.
 */
public final class Churn {
    private static final int PIECE = 16 << 10;
    private static final int KEPT = 1500; // pieces, 24 MB

    static volatile byte[] garbage; // seen by all, so that no compiler leaves the allocation out

    public static void main(String[] args) throws InterruptedException {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        long rate = Long.parseLong(args[1]) << 20;
        byte[][] kept = new byte[KEPT][];
        long begun = System.nanoTime();
        for (long i = 0; System.nanoTime() < end; i++) {
            kept[(int) (i * 7 % KEPT)] = i % 8 == 0 ? garbage : null;
            garbage = new byte[PIECE];
            double ahead = (double) i * PIECE / rate - (System.nanoTime() - begun) / 1e9;
            if (ahead > 0.002) {
                Thread.sleep((long) (ahead * 1000));
            }
        }
    }
}
