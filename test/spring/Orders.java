import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;

/**
 * A Spring Boot application that logs numbered orders until it is killed: --count=FILE [--rate=1] [--orders=N]. The
 * mapped file has the number of the last order whose log.info() has returned, in eight bytes, little-endian. The rate
 * is the maximum number of orders a millisecond.
 */
public class Orders {
    private static final Logger LOG = LoggerFactory.getLogger(Orders.class);

    public static void main(String[] args) throws Exception {
        var application = new SpringApplication(Orders.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        var environment = application.run(args).getEnvironment();
        int rate = environment.getProperty("rate", Integer.class, 1);
        long orders = environment.getProperty("orders", Long.class, Long.MAX_VALUE);
        ByteBuffer count;
        try (FileChannel file = FileChannel.open(Path.of(environment.getRequiredProperty("count")),
                StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            count = file.map(FileChannel.MapMode.READ_WRITE, 0, 8).order(ByteOrder.LITTLE_ENDIAN);
        }
        for (long n = 1; n <= orders; n++) {
            LOG.info("order {} is paid", n);
            count.putLong(0, n);
            LOG.debug("order {} has {} items", n, 1 + n % 7);
            if (n % rate == 0) {
                LockSupport.parkNanos(1_000_000);
            }
        }
    }
}
