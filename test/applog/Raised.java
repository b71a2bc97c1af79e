import org.apache.logging.log4j.LogManager;
import org.slf4j.LoggerFactory;

/** Logs rounds of three loggers at debug until it is killed, with Logback or Log4j 2: Raised logback|log4j. */
class Raised {
    public static void main(String[] args) throws Exception {
        for (int round = 1; ; round++) {
            for (String name : new String[] {"com.acme.Db", "com.other.Db", "com.acme.wire.Headers"}) {
                if (args[0].equals("logback")) {
                    LoggerFactory.getLogger(name).debug("round {}", round);
                } else {
                    LogManager.getLogger(name).debug("round {}", round);
                }
            }
            Thread.sleep(5);
        }
    }
}
