package format

import (
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// The level and the time of a line are right, or unknown. None is wrong. A time of "" is
// unknown; the level of a line that must not inherit one is unknown, and the line is a header.
var lines = []struct {
	what, line string
	level      ul.Level
	time       string
}{
	{"Logback", "2024-05-07 09:12:44.123 [main] INFO  com.acme.Shop -- text", ul.Info, "09:12:44.123"},
	{"Logback, MDC in brackets", "2024-05-07 09:12:44.123 [main] [traceId=1] WARN  com.acme.Shop -- text", ul.Warning, "09:12:44.123"},
	{"Logback, MDC in braces", "2024-05-07 09:12:44.123 [main] {traceId=1} WARN  com.acme.Shop -- text", ul.Warning, "09:12:44.123"},
	{"Log4j 2 DEFAULT", "2024-05-07 09:12:44,123 [main] ERROR com.acme.Shop - text", ul.Error, "09:12:44.123"},
	{"Log4j 2 DATE", "07 May 2024 09:12:44,123 [main] ERROR com.acme.Shop - text", ul.Error, "09:12:44.123"},
	{"Log4j 2 ISO8601_BASIC", "20240507T091244,123 ERROR com.acme.Shop - text", ul.Error, "09:12:44.123"},
	{"Log4j 2 DEFAULT_MICROS", "2024-05-07 09:12:44,123000 ERROR com.acme.Shop - text", ul.Error, "09:12:44.123"},
	{"Log4j 2 ISO8601_PERIOD", "2024-05-07T09:12:44.123 ERROR com.acme.Shop - text", ul.Error, "09:12:44.123"},
	{"Log4j 2 BASIC", "20240507 091244,123 [main] DEBUG com.acme.Shop - text", ul.Debug, "09:12:44.123"},
	{"Log4j 2 COMPACT", "20240507091244123 [main] ERROR com.acme.Shop - text", ul.Unknown, ""},
	{"Log4j 2 UNIX_MILLIS", "1715073164123 [main] ERROR com.acme.Shop - text", ul.Error, "09:12:44.123"},
	{"Log4j 2 ABSOLUTE", "09:12:44,123 [main] ERROR com.acme.Shop - text", ul.Error, ""},
	{"Log4j 2 ISO8601_OFFSET_DATE_TIME_HHCMM", "2024-05-07T11:12:44,123+02:00 TRACE text", ul.Trace, "09:12:44.123"},
	{"Log4j 2 ISO8601_OFFSET_DATE_TIME_HH", "2024-05-07T11:12:44,123+02 TRACE text", ul.Trace, "09:12:44.123"},
	{"Log4j 2 highlight", "\x1b[31m2024-05-07 09:12:44,123 ERROR text\x1b[m", ul.Error, "09:12:44.123"},
	{"Log4j, level first in color", "\x1b[31mERROR [main] 2024-05-07 09:12:44,123 text\x1b[m", ul.Error, "09:12:44.123"},
	{"Log4j, level first", "INFO 2024-05-07 09:12:44,123 [main] com.acme.Shop - text", ul.Info, "09:12:44.123"},
	{"Log4j, level first and aligned to the right", " WARN 2024-05-07 09:12:44,123 [main] com.acme.Shop - text", ul.Warning, "09:12:44.123"},
	{"Log4j, level first in brackets", "[INFO ] 2024-05-07 09:12:44.123 [main] Shop - text", ul.Info, "09:12:44.123"},
	{"Log4j, level first in brackets, aligned to the right", "[ WARN] 2024-05-07 09:12:44.123 [main] Shop - text", ul.Warning, "09:12:44.123"},
	{"Log4j 1 TTCC", "4711 [main] ERROR com.acme.Shop - text", ul.Unknown, ""},
	{"thread first", "[main] 2024-05-07 09:12:44.123 ERROR text", ul.Unknown, ""},
	{"Spring Boot 2.7", "2024-05-07 09:12:44.123  INFO 4711 --- [           main] com.acme.Shop : text", ul.Info, "09:12:44.123"},
	{"Spring Boot 2.7 with Sleuth", "2024-05-07 09:12:44.123  WARN [shop,5f3,1a] 4711 --- [main] com.acme.Shop : text", ul.Warning, "09:12:44.123"},
	{"Spring Boot 3", "2024-05-07T11:12:44.123+02:00 ERROR 4711 --- [shop] [main] com.acme.Shop : text", ul.Error, "09:12:44.123"},
	{"Spring Boot 3, colored", "\x1b[2m2024-05-07T09:12:44.123Z\x1b[0;39m \x1b[32m INFO\x1b[0;39m \x1b[35m1\x1b[0;39m text", ul.Info, "09:12:44.123"},
	{"WildFly", "2024-05-07 09:12:44,123 WARN  [org.jboss.as] (MSC service thread 1-2) WFLYSRV0059: text", ul.Warning, "09:12:44.123"},
	{"WildFly's console", "09:12:44,123 INFO  [org.jboss.as] (main) WFLYSRV0025: text", ul.Info, ""},
	{"Quarkus", "2024-05-07 09:12:44,123 INFO  [io.quarkus] (main) shop 1.0 started in 1.2s", ul.Info, "09:12:44.123"},
	{"Quarkus, with host", "2024-05-07 09:12:44,123 host shop[4711] INFO  [io.quarkus] (main) text", ul.Info, "09:12:44.123"},
	{"Micronaut", "\x1b[36m09:12:44.123\x1b[0;39m \x1b[1;30m[main]\x1b[0;39m \x1b[1;31mERROR\x1b[0;39m text", ul.Error, ""},
	{"Kafka", "[2024-05-07 09:12:44,123] WARN [Controller id=1] text (kafka.controller.KafkaController)", ul.Warning, "09:12:44.123"},
	{"Elasticsearch", "[2024-05-07T09:12:44,123][WARN ][o.e.n.Node               ] [node-1] text", ul.Warning, "09:12:44.123"},
	{"Elasticsearch, deprecation", "[2024-05-07T09:12:44,123][DEPRECATION][o.e.d.r.a.d.RestGet] [node-1] text", ul.Unknown, ""},
	{"Hadoop", "2024-05-07 09:12:44,123 FATAL org.apache.hadoop.hdfs.NameNode: text", ul.Error, "09:12:44.123"},
	{"Spark", "24/05/07 09:12:44 ERROR SparkContext: text", ul.Error, ""},
	{"ZooKeeper", "2024-05-07 09:12:44,123 [myid:1] - WARN  [main:QuorumPeer@1] - text", ul.Warning, "09:12:44.123"},
	{"Cassandra", "ERROR [main] 2024-05-07 09:12:44,123 CassandraDaemon.java:752 - text", ul.Error, "09:12:44.123"},
	{"Cassandra, two brackets", "DEBUG [Messaging[a]] [b] 2024-05-07 09:12:44,123 X.java:7 - text", ul.Debug, "09:12:44.123"},
	{"Dropwizard", "INFO  [2024-05-07 09:12:44,123] com.acme.Shop: text", ul.Info, "09:12:44.123"},
	{"Tomcat", "07-May-2024 09:12:44.123 SEVERE [main] org.apache.catalina.core.X.y text", ul.Error, "09:12:44.123"},
	{"Tomcat, FINE", "07-May-2024 09:12:44.123 FINE [main] org.apache.catalina.core.X.y text", ul.Debug, "09:12:44.123"},
	{"Jetty 9", "2024-05-07 09:12:44.123:WARN:oejs.Server:main: text", ul.Warning, "09:12:44.123"},
	{"Jetty 9, debug", "2024-05-07 09:12:44.123:DBUG:oejs.Server:main: text", ul.Debug, "09:12:44.123"},
	{"Jetty 12", "2024-05-07 09:12:44.123:INFO :oejs.Server:main: text", ul.Info, "09:12:44.123"},
	{"Jetty, another level", "2024-05-07 09:12:44.123:IGNORED:oejs.Server:main: text", ul.Unknown, ""},
	{"Trino", "2024-05-07T09:12:44.123Z\tWARN\tmain\tio.trino.Server\ttext", ul.Warning, "09:12:44.123"},
	{"WebLogic's console", "<May 7, 2024 9:12:44,123 AM CEST> <Warning> <Security> <BEA-090905> <text>", ul.Warning, ""},
	{"WebLogic's file", "####<May 7, 2024 9:12:44,123 AM CEST> <Critical> <Security> <host> <admin> <[ACTIVE]> <<WLS Kernel>> <> <> <1> <BEA-1> <text>", ul.Error, ""},
	{"WebLogic, another level", "<May 7, 2024 9:12:44,123 AM CEST> <Off> <Security> <BEA-090905> <text>", ul.Unknown, ""},
	{"Liberty", "[5/7/24, 9:12:44:123 CEST] 0000001a com.ibm.ws.kernel.feature.internal.FeatureManager            A CWWKF0011I: text", ul.Info, ""},
	{"Liberty, warning", "[5/7/24 9:12:44:123 CEST] 0000001a Main          W text", ul.Warning, ""},
	{"Liberty, error", "[5/7/24 9:12:44:123 CEST] 0000001a Main          E text", ul.Error, ""},
	{"Liberty, trace", "[5/7/24 9:12:44:123 CEST] 0000001a id=00000000 Main 3 text", ul.Unknown, ""},
	{"Liberty, entry", "[5/7/24 9:12:44:123 CEST] 0000001a Main          > text", ul.Trace, ""},
	{"Liberty, System.err", "[5/7/24 9:12:44:123 CEST] 0000001a SystemErr     R text", ul.Unknown, ""},
	{"Liberty, dates of ISO", "[2024-05-07T09:12:44.123+0000] 0000001a com.acme.Main I text", ul.Info, "09:12:44.123"},
	{"GlassFish ULF", "[#|2024-05-07T11:12:44.123+0200|WARNING|glassfish 5|com.acme|_ThreadID=1;|text|#]", ul.Warning, "09:12:44.123"},
	{"GlassFish ODL", "[2024-05-07T09:12:44.123+0000] [Payara 6] [SEVERE] [AS-1] [com.acme] [tid: 1] text", ul.Error, "09:12:44.123"},
	{"Play in production", "2024-05-07 09:12:44,123 [info] application - text", ul.Unknown, ""},
	{"Akka", "[WARN] [05/07/2024 09:12:44.123] [shop-default-dispatcher-3] [akka://shop] text", ul.Warning, ""},
	{"Akka by SLF4J", "[2024-05-07 09:12:44,123] [ERROR] [akka.actor.X] [default-3] - text", ul.Error, "09:12:44.123"},
	{"Minecraft", "[09:12:44] [Server thread/WARN]: text", ul.Warning, ""},
	{"Jenkins", "2024-05-07 09:12:44.123+0000 [id=1]\tWARNING\tj.m.Main#x: text", ul.Warning, "09:12:44.123"},
	{"Solr", "2024-05-07 09:12:44.123 WARN  (main) [c:x s:y] o.a.s.c.Core text", ul.Warning, "09:12:44.123"},
	{"Neo4j", "2024-05-07 09:12:44.123+0000 INFO  Started.", ul.Info, "09:12:44.123"},
	{"ActiveMQ", "2024-05-07 09:12:44,123 | WARN  | text | org.apache.activemq | main", ul.Warning, "09:12:44.123"},
	{"JUL in English", "May 07, 2024 9:12:44 AM com.acme.Main main", ul.Warning, "09:12:44"},
	{"JUL in German", "Mai 07, 2024 9:12:44 AM com.acme.Main main", ul.Unknown, ""},
	{"JUL in German, of JDK 17", "07.05.2024 09:12:44 com.acme.Main main", ul.Unknown, ""},
	{"a German date", "07.05.2024 09:12:44,123 WARN text", ul.Warning, "09:12:44.123"},
	{"a date of two meanings", "05/07/2024 09:12:44 WARN text", ul.Warning, ""},
	{"a date of two meanings, with an offset", "05-07-2024 09:12:44 +0000 WARN text", ul.Warning, ""},
	{"a date of three meanings", "05.07.24 09:12:44 WARN text", ul.Warning, ""},

	{"a zone's name", "2024-05-07 09:12:44.123 CEST INFO text", ul.Info, ""},
	{"a zone's name and a thread", "2024-05-07 09:12:44.123 CEST [main] INFO text", ul.Info, ""},
	{"UTC", "2024-05-07 09:12:44.123 UTC INFO text", ul.Info, "09:12:44.123"},
	{"GMT and an offset", "2024-05-07 09:12:44.123 GMT+02:00 INFO text", ul.Info, ""},
	{"a zone's name in brackets", "[2024-05-07 09:12:44,123 CEST] INFO text", ul.Info, ""},
	{"a zone's id", "2024-05-07 09:12:44.123 Europe/Berlin INFO text", ul.Info, ""},
	{"a zone's id in brackets", "2024-05-07T09:12:44.123[Europe/Berlin] INFO text", ul.Info, ""},
	{"a zone's id in brackets after its offset", "2024-05-07T11:12:44.123+02:00[Europe/Berlin] INFO text", ul.Info, "09:12:44.123"},
	{"a colon after the level", "2024-05-07 09:12:44.123 INFO: text", ul.Info, "09:12:44.123"},
	{"PM", "2024-05-07 09:12:44 PM INFO text", ul.Info, ""},
	{"PM in brackets", "[2024-05-07 09:12:44 PM] INFO text", ul.Info, ""},
	{"level first, and a zone's name", "INFO 2024-05-07 09:12:44 CEST text", ul.Info, ""},
	{"Tomcat with a zone's name", "07-May-2024 09:12:44.123 CEST SEVERE [main] text", ul.Error, ""},
	{"thread without a space", "2024-05-07 09:12:44,123[main] INFO text", ul.Info, "09:12:44.123"},
	{"offset after a thread", "2024-05-07 09:12:44,123 main INFO text", ul.Info, "09:12:44.123"},
	{"milliseconds after a colon", "2024-05-07 09:12:44:123 INFO text", ul.Info, "09:12:44.123"},

	{"a level of one's own", "2024-05-07 09:12:44,123 AUDIT [main] com.acme.Shop - text", ul.Unknown, ""},
	{"lower case", "2024-05-07 09:12:44,123 error text", ul.Unknown, ""},
	{"one letter", "2024-05-07 09:12:44,123 E text", ul.Unknown, ""},
	{"three words before the level", "2024-05-07 09:12:44,123 one two three ERROR", ul.Unknown, ""},

	{"logstash-logback-encoder", `{"@timestamp":"2024-05-07T11:12:44.123+02:00","@version":"1","message":"text","level":"WARN","level_value":30000}`, ul.Warning, "09:12:44.123"},
	{"ECS", `{"@timestamp":"2024-05-07T09:12:44.123Z","log.level":"ERROR","message":"text"}`, ul.Error, "09:12:44.123"},
	{"ECS, nested", `{"@timestamp":"2024-05-07T09:12:44.123Z","log":{"level":"ERROR","logger":"x"},"message":"text"}`, ul.Error, "09:12:44.123"},
	{"GELF", `{"version":"1.1","host":"h","short_message":"text","timestamp":1715073164.123,"level":4}`, ul.Warning, "09:12:44.123"},
	{"Log4j's JsonLayout", `{"timeMillis":1715073164123,"thread":"main","level":"WARN","loggerName":"x","message":"text"}`, ul.Warning, "09:12:44.123"},
	{"Log4j's JsonLayout, instant", `{"instant":{"epochSecond":1715073164,"nanoOfSecond":123000000},"thread":"main","level":"WARN"}`, ul.Warning, "09:12:44.123"},
	{"Logback's JsonEncoder", `{"sequenceNumber":0,"timestamp":1715073164123,"nanoseconds":123000000,"level":"INFO","message":"text"}`, ul.Info, "09:12:44.123"},
	{"Spark 4", `{"ts":"2024-05-07T09:12:44.123Z","level":"ERROR","msg":"text","logger":"SparkContext"}`, ul.Error, "09:12:44.123"},
	{"zap", `{"level":"warn","ts":1715073164.123,"caller":"x/y.go:1","msg":"text"}`, ul.Warning, "09:12:44.123"},
	{"Spring Cloud GCP", `{"traceId":"1","severity":"WARN","timestampSeconds":1715073164,"timestampNanos":123000000,"message":"text"}`, ul.Warning, "09:12:44.123"},
	{"Google Cloud", `{"severity":"CRITICAL","time":"2024-05-07T09:12:44.123Z","message":"text"}`, ul.Error, "09:12:44.123"},
	{"Liberty's JSON", `{"type":"liberty_message","ibm_datetime":"2024-05-07T11:12:44.123+0200","loglevel":"WARNING","message":"text"}`, ul.Warning, "09:12:44.123"},
	{"Bunyan", `{"name":"shop","hostname":"h","pid":1,"level":50,"msg":"text","time":"2024-05-07T09:12:44.123Z","v":0}`, ul.Error, "09:12:44.123"},
	{"pino", `{"level":30,"time":1715073164123,"pid":1,"hostname":"h","msg":"text"}`, ul.Info, "09:12:44.123"},
	{"a number that is no level", `{"level":35,"time":1715073164123,"msg":"text"}`, ul.Unknown, ""},
	{"a zone's name in JSON", `{"time":"2024-05-07 09:12:44.123 CEST","level":"INFO"}`, ul.Info, ""},
	{"PM in JSON", `{"time":"2024-05-07 09:12:44 PM","level":"INFO"}`, ul.Info, ""},
	{"Java's ZonedDateTime in JSON", `{"time":"2024-05-07T11:12:44.123+02:00[Europe/Berlin]","level":"INFO"}`, ul.Info, "09:12:44.123"},
}

func TestLines(t *testing.T) {
	for _, c := range lines {
		var k Classifier
		if got := k.Classify([]byte(c.line), []byte("WARNING: text\n")); got.Level != c.level {
			t.Errorf("%s: level %s, want %s: %s", c.what, got.Level, c.level, c.line)
		}
		text := ""
		if at, ok := When([]byte(c.line)); ok {
			if text = at.Format("15:04:05.999"); at.Truncate(24*time.Hour) != time.Date(2024, 5, 7, 0, 0, 0, 0, time.UTC) {
				t.Errorf("%s: %s is not the day: %s", c.what, at, c.line)
			}
		}
		if text != c.time {
			t.Errorf("%s: time %q, want %q: %s", c.what, text, c.time, c.line)
		}
	}
}

// A record whose level is not known has no other record's.
func TestDatedLinesInheritNothing(t *testing.T) {
	for _, c := range lines {
		var k Classifier
		k.Classify([]byte("2024-05-07 09:12:43,123 ERROR [main] com.acme.Shop - text"), nil)
		var at stamp
		parse([]byte(c.line), nil, &at)
		if got := k.Classify([]byte(c.line), []byte("WARNING: text\n")); at.dated && got.Level != c.level {
			t.Errorf("%s: level %s, want %s: %s", c.what, got.Level, c.level, c.line)
		}
	}
}
