import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Collects, waits for a line of input, and then takes memory until it ends: in its heap, outside, or on a tmpfs.
 */
public class Doomed {
    private static final int MIB = 1 << 20;

    public static void main(String[] args) throws Exception {
        System.gc();
        System.in.read();
        List<Object> kept = new ArrayList<>();
        try (FileOutputStream file = new FileOutputStream(args[1])) {
            while (true) {
                switch (args[0]) {
                    case "heap":
                        kept.add(new byte[MIB / 4]);
                        break;
                    case "native":
                        ByteBuffer outside = ByteBuffer.allocateDirect(MIB);
                        while (outside.hasRemaining()) {
                            outside.put((byte) 1);
                        }
                        kept.add(outside);
                        break;
                    default:
                        file.write(new byte[MIB]);
                }
            }
        }
    }
}
