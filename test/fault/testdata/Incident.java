/**
 * Holds millions of small objects and collects garbage again and again: each full collection takes more than 100 ms.
 * The argument is the duration in milliseconds.
 */
public final class Incident {
    private static final int NODES = 6_000_000; // about 150 MB

    private static final class Node {
        final Node next;
        final int number;

        Node(Node next, int number) {
            this.next = next;
            this.number = number;
        }
    }

    static Node list; // reachable, so that no compiler leaves the nodes out

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        for (int i = 0; i < NODES; i++) {
            list = new Node(list, i);
        }
        while (System.nanoTime() < end) {
            System.gc();
            Thread.sleep(200);
        }
    }
}
