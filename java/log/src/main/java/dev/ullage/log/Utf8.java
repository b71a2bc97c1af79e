package dev.ullage.log;

import java.nio.ByteBuffer;

/** UTF-8 without an allocation. A lone surrogate becomes U+FFFD, so that all output is valid. */
final class Utf8 {
    private Utf8() {}

    /** The number of bytes of s: equal to the length of s if, and only if, s is ASCII. */
    static int size(String s) {
        int n = s.length();
        int all = 0;
        for (int i = 0; i < n; i++) {
            all |= s.charAt(i);
        }
        return all < 0x80 ? n : wideSize(s, n);
    }

    private static int wideSize(String s, int n) {
        int size = 0;
        for (int i = 0; i < n; i++) {
            char c = s.charAt(i);
            if (c < 0x80) {
                size++;
            } else if (c < 0x800) {
                size += 2;
            } else if (isPair(s, i, n)) {
                size += 4;
                i++;
            } else {
                size += 3;
            }
        }
        return size;
    }

    /** Writes s, whose size is known, into the buffer at an index. It returns the index after s. */
    static int put(String s, int size, ByteBuffer to, int at) {
        return size == s.length() ? putAscii(s, size, to, at) : putWide(s, to, at);
    }

    /** Writes eight characters with each store. The buffer is little endian. */
    private static int putAscii(String s, int n, ByteBuffer to, int at) {
        int i = 0;
        for (; i <= n - 8; i += 8) {
            to.putLong(at + i, (long) s.charAt(i) | (long) s.charAt(i + 1) << 8 | (long) s.charAt(i + 2) << 16
                    | (long) s.charAt(i + 3) << 24 | (long) s.charAt(i + 4) << 32 | (long) s.charAt(i + 5) << 40
                    | (long) s.charAt(i + 6) << 48 | (long) s.charAt(i + 7) << 56);
        }
        for (; i < n; i++) {
            to.put(at + i, (byte) s.charAt(i));
        }
        return at + n;
    }

    private static int putWide(String s, ByteBuffer to, int at) {
        int n = s.length();
        for (int i = 0; i < n; i++) {
            int c = codePoint(s, i, n);
            if (c >= 0x10000) {
                to.put(at++, (byte) (0xF0 | c >> 18));
                to.put(at++, (byte) (0x80 | c >> 12 & 0x3F));
                to.put(at++, (byte) (0x80 | c >> 6 & 0x3F));
                i++;
            } else if (c >= 0x800) {
                to.put(at++, (byte) (0xE0 | c >> 12));
                to.put(at++, (byte) (0x80 | c >> 6 & 0x3F));
            } else if (c >= 0x80) {
                to.put(at++, (byte) (0xC0 | c >> 6));
            }
            to.put(at++, (byte) (c < 0x80 ? c : 0x80 | c & 0x3F));
        }
        return at;
    }

    /** Writes the characters of s from one index to another into an array, which has room. It returns the index after them. */
    static int put(CharSequence s, int from, int end, byte[] to, int at) {
        for (int i = from; i < end; i++) {
            char unit = s.charAt(i);
            if (unit < 0x80) {
                to[at++] = (byte) unit;
                continue;
            }
            int c = codePoint(s, i, end);
            int size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
            to[at++] = (byte) (size == 2 ? 0xC0 | c >> 6 : size == 3 ? 0xE0 | c >> 12 : 0xF0 | c >> 18);
            for (int shift = 6 * (size - 2); shift >= 0; shift -= 6) {
                to[at++] = (byte) (0x80 | c >> shift & 0x3F);
            }
            i += size >> 2;
        }
        return at;
    }

    private static boolean isPair(CharSequence s, int i, int n) {
        return Character.isHighSurrogate(s.charAt(i)) && i + 1 < n && Character.isLowSurrogate(s.charAt(i + 1));
    }

    private static int codePoint(CharSequence s, int i, int n) {
        char c = s.charAt(i);
        if (!Character.isSurrogate(c)) {
            return c;
        }
        return isPair(s, i, n) ? Character.toCodePoint(c, s.charAt(i + 1)) : 0xFFFD;
    }
}
