import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/** Server is an OpenSearch of one node without plugins: java Server DIRECTORY HTTP-PORT TRANSPORT-PORT. */
public final class Server extends Node {
    private Server(Environment environment) {
        super(environment, List.of(Netty4Plugin.class), false);
    }

    public static void main(String[] args) throws Exception {
        Settings settings = Settings.builder()
            .put("path.home", args[0])
            .put("node.name", "n1")
            .put("node.processors", 2)
            .put("cluster.name", "test")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", args[1])
            .put("transport.port", args[2])
            .put("transport.type", "netty4")
            .put("http.type", "netty4")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        new Server(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "n1")).start();
        Thread.currentThread().join();
    }
}
