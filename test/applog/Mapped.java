import org.apache.logging.log4j.LogManager;

/** Logs a hundred numbered lines with Log4j 2 for each line of its input, and confirms each hundred. */
class Mapped {
    public static void main(String[] args) throws Exception {
        var logger = LogManager.getLogger("com.example.Main");
        for (int n = 0; System.in.read() >= 0; ) {
            for (int end = n + 100; n < end; ) {
                logger.info("number {}", ++n);
            }
            System.out.println(n);
        }
        LogManager.shutdown();
    }
}
