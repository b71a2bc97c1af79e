import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Writes a log as a JVM does while the sidecar takes nothing. In addition to the heap, it uses as much memory as an
 * application needs for classes, compiled code and threads. The heap itself is in use from the start
 * (-XX:+AlwaysPreTouch).
 */
public class Heap {
    private static final int MIB = 1 << 20;

    public static void main(String[] args) throws IOException {
        byte[] line = new byte[MIB];
        Arrays.fill(line, (byte) 'x');
        try (FileOutputStream log = new FileOutputStream(args[0])) {
            for (int i = 0; i < Integer.parseInt(args[1]); i++) {
                log.write(line);
            }
        }
        ByteBuffer beside = ByteBuffer.allocateDirect(Integer.parseInt(args[2]) * MIB);
        while (beside.hasRemaining()) {
            beside.put((byte) 1);
        }
        System.out.println("lives with " + (Runtime.getRuntime().totalMemory() / MIB) + " MiB of heap");
    }
}
