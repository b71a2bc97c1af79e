/** Throws numbered exceptions in two threads. With -Xlog:exceptions=info, the JVM logs each of them. */
public class Numbered {
    static void raise(String text) throws Exception {
        throw new Exception(text);
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        Thread[] threads = new Thread[2];
        for (int t = 0; t < threads.length; t++) {
            int thread = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < count; i++) {
                    try {
                        raise("SEQ " + thread + " " + i + " END");
                    } catch (Exception expected) {
                        // It was thrown only to be logged.
                    }
                }
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
    }
}
