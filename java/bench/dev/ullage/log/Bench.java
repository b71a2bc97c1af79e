package dev.ullage.log;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Prints the cost of an event as a table: best and median of the iterations of all forks. */
public final class Bench {
    private Bench() {}

    /** A measurement and its limit; 0: no limit. If clock is set, the best time of nanoTime is added to the limit. */
    private record Row(String name, String what, String must, boolean clock, double limit) {}

    private static final List<Row> ROWS = List.of(
            new Row("nanoTime", "`System.nanoTime()` alone", "", false, 0),
            new Row("withoutRing", "no ring", "", false, 0),
            new Row("notEnabled", "level not enabled", "", false, 0),
            new Row("withoutClock", "event without text, without clock", "≤ 15", false, 15),
            new Row("withoutText", "event without text", "≤ clock + 20", true, 20),
            new Row("twoLongs", "two longs for a template", "", false, 0),
            new Row("text18", "event with 18 characters", "≤ 60", false, 60),
            new Row("text100", "event with 100 characters", "", false, 0),
            new Row("wide18", "event with 18 characters, not ASCII", "", false, 0),
            new Row("logger18", "`[thread] logger` + 18 characters", "", false, 0),
            new Row("line18", "the same by a front end", "", false, 0));

    public static void main(String[] a) throws Exception {
        int forks = Integer.getInteger("forks", 3);
        Collection<RunResult> results = new Runner(new OptionsBuilder().include("EventBench").forks(forks)
                .warmupIterations(3).warmupTime(TimeValue.milliseconds(300))
                .measurementIterations(7).measurementTime(TimeValue.milliseconds(300))
                .addProfiler(GCProfiler.class).verbosity(VerboseMode.SILENT).build()).run();
        double clock = values(result(results, "nanoTime")).get(0);
        System.out.println("JDK " + Runtime.version() + ", " + forks + " forks, nanoseconds");
        System.out.println("| | must | best | median | B/op | |\n|---|---|---|---|---|---|");
        for (Row row : ROWS) {
            RunResult result = result(results, row.name);
            List<Double> values = values(result);
            double best = values.get(0);
            boolean holds = row.limit == 0 || best <= row.limit + (row.clock ? clock : 0);
            System.out.printf("| %s | %s | %.1f | %.1f | %.3f | %s |%n", row.what, row.must, best,
                    values.get(values.size() / 2), allocated(result), row.limit == 0 ? "" : holds ? "ok" : "MISSED");
        }
    }

    private static RunResult result(Collection<RunResult> results, String name) {
        return results.stream().filter(r -> r.getParams().getBenchmark().endsWith("." + name)).findFirst().orElseThrow();
    }

    private static List<Double> values(RunResult result) {
        List<Double> values = new ArrayList<>();
        for (BenchmarkResult fork : result.getBenchmarkResults()) {
            for (IterationResult iteration : fork.getIterationResults()) {
                values.add(iteration.getPrimaryResult().getScore());
            }
        }
        values.sort(null);
        return values;
    }

    private static double allocated(RunResult result) {
        Result<?> bytes = result.getSecondaryResults().get("gc.alloc.rate.norm");
        return bytes == null ? Double.NaN : bytes.getScore();
    }
}
