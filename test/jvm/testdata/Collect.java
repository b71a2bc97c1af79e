/** Collects all garbage over and over again. Argument: milliseconds. */
public final class Collect {
    private static final int LIVE = 200_000; // objects, so that a collection takes its time

    static Object[] live = new Object[LIVE];

    public static void main(String[] args) {
        for (int i = 0; i < LIVE; i++) {
            live[i] = new byte[100];
        }
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        while (System.nanoTime() < end) {
            System.gc();
        }
    }
}
