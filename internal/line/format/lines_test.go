package format

import (
	"slices"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// The level and the time of a line are either right or unknown, never wrong. A time of "" is
// unknown. A line that must not inherit a level is a header of level Unknown.
type sample struct {
	what, line string
	level      ul.Level
	time       string
}

// lines are the patterns of libraries and servers, with variants of their fields.
var lines = []sample{
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

// productLines are lines of products that run on a JVM or next to one. The rules for lines apply to them too.
var productLines = []sample{
	{"Tomcat, CONFIG", "07-May-2024 09:12:44.123 CONFIG [main] org.apache.catalina.startup.Catalina.load text", ul.Info, "09:12:44.123"},
	{"Tomcat, a thread with a space", "07-May-2024 09:12:44.123 WARNING [Catalina-utility-1 x] org.apache.catalina.util.SessionIdGeneratorBase.createSecureRandom text", ul.Warning, "09:12:44.123"},
	{"Tomcat, FINEST", "07-May-2024 09:12:44.123 FINEST [http-nio-8080-exec-1] org.apache.coyote.X.y text", ul.Trace, "09:12:44.123"},
	{"Tomcat, JSON", `{"time": "2024-05-07T09:12:44.123Z", "level": "SEVERE", "thread": "main", "class": "org.apache.X", "method": "y", "message": "text"}`, ul.Error, "09:12:44.123"},
	{"Tomcat's access log", `10.0.0.1 - - [07/May/2024:09:12:44 +0000] "GET /ERROR HTTP/1.1" 200 5`, ul.Unknown, ""},
	{"Dropwizard, an error", "ERROR [2024-05-07 09:12:44,123] io.dropwizard.jersey.errors.LoggingExceptionMapper: Error handling a request: 0a1b", ul.Error, "09:12:44.123"},
	{"Dropwizard, a line of a stack trace", "! java.lang.IllegalStateException: ERROR", ul.Unknown, ""},
	{"Dropwizard, JSON", `{"timestamp":1715073164123,"level":"WARN","thread":"dw-17","logger":"com.acme.Shop","message":"text"}`, ul.Warning, "09:12:44.123"},
	{"Cassandra 3", "INFO  [Native-Transport-Requests-1] 2024-05-07 09:12:44,123 AuthCache.java:177 - text", ul.Info, "09:12:44.123"},
	{"Cassandra 4.1", "WARN  [GossipTasks:1] 2024-05-07T09:12:44,123 FailureDetector.java:320 - text", ul.Warning, "09:12:44.123"},
	{"DataStax Enterprise", "INFO  [DSE main thread] 2024-05-07 09:12:44,123  DseDaemon.java:741 - text", ul.Info, "09:12:44.123"},
	{"ScyllaDB", "ERROR 2024-05-07 09:12:44,123 [shard 0:main] gossip - text", ul.Error, "09:12:44.123"},
	{"Spark, INFO", "24/05/07 09:12:44 INFO DAGScheduler: ResultStage 0 (main at X.java:7) failed", ul.Info, ""},
	{"Spark, JSON with a context", `{"ts":"2024-05-07T09:12:44.123Z","level":"WARN","msg":"Lost task","context":{"level":"ERROR"},"logger":"TaskSetManager"}`, ul.Warning, "09:12:44.123"},
	{"Flink", "2024-05-07 09:12:44,123 WARN  org.apache.flink.runtime.taskexecutor.TaskExecutor           [] - text", ul.Warning, "09:12:44.123"},
	{"HBase 2", "2024-05-07T09:12:44,123 INFO  [RS-EventLoopGroup-1-1] ipc.NettyRpcServer: text", ul.Info, "09:12:44.123"},
	{"HBase 1", "2024-05-07 09:12:44,123 WARN  [RpcServer.default.FPBQ.Fifo.handler=29,queue=2,port=16020] ipc.RpcServer: text", ul.Warning, "09:12:44.123"},
	{"Hive", "2024-05-07T09:12:44,123 ERROR [7e1c main] ql.Driver: FAILED: text", ul.Error, "09:12:44.123"},
	{"Storm", "2024-05-07 09:12:44.123 o.a.s.d.n.Nimbus main [ERROR] text", ul.Error, "09:12:44.123"},
	{"NiFi", "2024-05-07 09:12:44,123 ERROR [Timer-Driven Process Thread-1] o.a.n.p.standard.PutFile text", ul.Error, "09:12:44.123"},
	{"Kafka's state change", "[2024-05-07 09:12:44,123] TRACE [Controller id=1 epoch=2] text (state.change.logger)", ul.Trace, "09:12:44.123"},
	{"Kafka Connect", "[2024-05-07 09:12:44,123] ERROR [shop-sink|task-0] WorkerSinkTask{id=shop-0} text (org.apache.kafka.connect.runtime.WorkerTask:195)", ul.Error, "09:12:44.123"},
	{"Debezium", "2024-05-07 09:12:44,123 WARN   MySQL|shop|binlog  text   [io.debezium.connector.mysql.X]", ul.Warning, "09:12:44.123"},
	{"Pulsar", "2024-05-07T11:12:44,123+0200 [pulsar-web-67-3] ERROR org.apache.pulsar.broker.PulsarService - text", ul.Error, "09:12:44.123"},
	{"BookKeeper", "2024-05-07 09:12:44,123 - WARN  - [main:BookieServer@1] - text", ul.Warning, "09:12:44.123"},
	{"ZooKeeper 3.9", "2024-05-07 09:12:44,123 [myid:] - ERROR [main:o.a.z.s.q.QuorumPeerMain@98] - text", ul.Error, "09:12:44.123"},
	{"Druid", "2024-05-07T09:12:44,123 WARN [main] org.apache.druid.cli.CliHistorical - text", ul.Warning, "09:12:44.123"},
	{"Pinot", "2024/05/07 09:12:44.123 ERROR [ServerStarter] [main] text", ul.Error, "09:12:44.123"},
	{"Solr, no core", "2024-05-07 09:12:44.123 ERROR (qtp1-20) [   x:shop] o.a.s.h.RequestHandlerBase text", ul.Error, "09:12:44.123"},
	{"Elasticsearch 2", "[2024-05-07 09:12:44,123][WARN ][cluster.routing.allocation.decider] [Jack] text", ul.Warning, "09:12:44.123"},
	{"Elasticsearch 7, JSON", `{"type": "server", "timestamp": "2024-05-07T09:12:44,123Z", "level": "ERROR", "component": "o.e.b.Bootstrap", "message": "text"}`, ul.Error, "09:12:44.123"},
	{"Elasticsearch 8, JSON", `{"@timestamp":"2024-05-07T09:12:44.123Z", "log.level": "WARN", "message":"text", "ecs.version": "1.2.0","service.name":"ES_ECS","log.logger":"o.e.X"}`, ul.Warning, "09:12:44.123"},
	{"Elasticsearch's slow log", "[2024-05-07T09:12:44,123][WARN ][i.s.s.query] [node-1] [shop][0] took[1s], took_millis[1000], level[ERROR]", ul.Warning, "09:12:44.123"},
	{"Logstash", "[2024-05-07T09:12:44,123][ERROR][logstash.agent           ] text", ul.Error, "09:12:44.123"},
	{"Graylog", "2024-05-07 09:12:44,123 ERROR: org.graylog2.bootstrap.CmdLineTool - text", ul.Error, "09:12:44.123"},
	{"Graylog in a container", "2024-05-07 09:12:44,123 WARN    [CmdLineTool] - text - {}", ul.Warning, "09:12:44.123"},
	{"Neo4j, a pause", "2024-05-07 09:12:44.123+0000 WARN  [o.n.k.i.c.VmPauseMonitorComponent] Detected VM stop-the-world pause", ul.Warning, "09:12:44.123"},
	{"Keycloak", "2024-05-07 09:12:44,123 WARN  [org.keycloak.events] (executor-thread-1) type=\"LOGIN_ERROR\"", ul.Warning, "09:12:44.123"},
	{"Keycloak, JSON", `{"timestamp":"2024-05-07T11:12:44.123+02:00","sequence":7,"loggerClassName":"org.jboss.logging.Logger","loggerName":"x","level":"ERROR","message":"text","mdc":{"level":"a"}}`, ul.Error, "09:12:44.123"},
	{"JBoss EAP 6", "09:12:44,123 FATAL [org.jboss.as.server] (Controller Boot Thread) JBAS015957: text", ul.Error, ""},
	{"Infinispan", "2024-05-07 09:12:44,123 WARN  (jgroups-7,shop) [org.infinispan.CLUSTER] ISPN000071: text", ul.Warning, "09:12:44.123"},
	{"ActiveMQ Artemis", "2024-05-07 09:12:44,123 ERROR [org.apache.activemq.artemis.core.server] AMQ224000: text", ul.Error, "09:12:44.123"},
	{"Karaf", "2024-05-07T09:12:44,123 | WARN  | FelixStartLevel  | BundleX | 27 - org.apache.karaf - 4.4 | text", ul.Warning, "09:12:44.123"},
	{"Jenkins, SEVERE", "2024-05-07 09:12:44.123+0000 [id=22]\tSEVERE\tjenkins.InitReactorRunner$1#onTaskFailed: text", ul.Error, "09:12:44.123"},
	{"Nexus", "2024-05-07 09:12:44,123+0000 WARN  [qtp1-40] *UNKNOWN org.sonatype.nexus.X - text", ul.Warning, "09:12:44.123"},
	{"Artifactory", "2024-05-07T09:12:44.123Z [jfrt ] [ERROR] [5c7a2b1d] [o.a.w.s.X:91] [http-nio-8081-exec-1] - text", ul.Error, "09:12:44.123"},
	{"SonarQube", "2024.05.07 09:12:44 ERROR web[AY9x][o.s.s.p.Platform] text", ul.Error, "09:12:44"},
	{"Jira", "2024-05-07 09:12:44,123+0000 http-nio-8080-exec-1 ERROR anna 552x1x1 abc 10.0.0.1 /login.jsp [c.a.j.X] text", ul.Error, "09:12:44.123"},
	{"Confluence", "2024-05-07 09:12:44,123 WARN [Catalina-utility-1] [com.atlassian.confluence.X] y text", ul.Warning, "09:12:44.123"},
	{"Liferay", "2024-05-07 09:12:44.123 WARN  [main][DialectDetector:158] text", ul.Warning, "09:12:44.123"},
	{"Alfresco", "2024-05-07 09:12:44,123  ERROR [web.context.ContextLoader] [main] text", ul.Error, "09:12:44.123"},
	{"Hazelcast", "2024-05-07 09:12:44,123 [ WARN] [hz.shop.priority-generic-operation.thread-0] [c.h.i.X]: [10.0.0.1]:5701 text", ul.Warning, "09:12:44.123"},
	{"Ignite", "[09:12:44,123][SEVERE][main][IgniteKernal] text", ul.Error, ""},
	{"Ignite with a date", "[2024-05-07T09:12:44,123][WARNING][main][G] text", ul.Warning, "09:12:44.123"},
	{"Zeebe", "2024-05-07 09:12:44.123 [Broker-0] [zb-actors-1] [SnapshotDirector-1] WARN  io.camunda.zeebe.X - text", ul.Warning, "09:12:44.123"},
	{"Trino, an offset", "2024-05-07T11:12:44.123+0200\tERROR\tremote-task-callback-4\tio.trino.execution.X\ttext", ul.Error, "09:12:44.123"},
	{"Trino, JSON", `{"timestamp":"2024-05-07T09:12:44.123Z","level":"ERROR","thread":"main","logger":"io.trino.X","message":"text"}`, ul.Error, "09:12:44.123"},
	{"Jetty 9.4", "2024-05-07 09:12:44.123:WARN:oejuc.AbstractLifeCycle:main: FAILED ServerConnector@1: java.io.IOException", ul.Warning, "09:12:44.123"},
	{"Jetty by SLF4J", "2024-05-07 09:12:44.123:ERROR:oejs.HttpChannel:qtp1-17: text", ul.Error, "09:12:44.123"},
	{"Jetty, access", `10.0.0.1 - - [07/May/2024:09:12:44 +0000] "GET / HTTP/1.1" 500 0 "-" "WARN"`, ul.Unknown, ""},
	{"WebLogic, notice", "<May 7, 2024 9:12:44 AM UTC> <Notice> <WebLogicServer> <BEA-000365> <Server state changed to RUNNING.>", ul.Info, ""},
	{"WebLogic in German", "####<07.05.2024 9:12 Uhr MESZ> <Error> <Deployer> <host> <admin> <text>", ul.Error, ""},
	{"WebLogic, emergency", "<May 7, 2024, 9:12:44,123 PM Pacific Daylight Time> <Emergency> <Store> <BEA-280060> <text>", ul.Error, ""},
	{"WebSphere, audit", "[5/7/24 9:12:44:123 EDT] 00000001 WsServerImpl  A   WSVR0001I: Server server1 open for e-business", ul.Info, ""},
	{"WebSphere, System.out", "[5/7/24 9:12:44:123 EDT] 0000003b SystemOut     O ERROR text", ul.Info, ""},
	{"Liberty, fatal", "[07.05.24 09:12:44:123 MESZ] 0000002f com.ibm.ws.X   F text", ul.Error, ""},
	{"Liberty in development", "[AUDIT   ] CWWKF0011I: The server is ready", ul.Unknown, ""},
	{"Liberty, JSON of a trace", `{"type":"liberty_trace","host":"h","ibm_datetime":"2024-05-07T09:12:44.123+0000","loglevel":"FINEST","message":"text"}`, ul.Trace, "09:12:44.123"},
	{"Payara", "[2024-05-07T11:12:44.123+0200] [Payara 6.2] [WARNING] [] [fish.payara.X] [tid: _ThreadID=1 _ThreadName=main] [timeMillis: 1715073164123] [levelValue: 900] [[", ul.Warning, "09:12:44.123"},
	{"Oracle, ODL", "[2024-05-07T09:12:44.123+00:00] [AdminServer] [NOTIFICATION] [] [oracle.X] text", ul.Unknown, ""},
	{"Helidon", "2024.05.07 09:12:44 WARNING io.helidon.webserver.X Thread[#1,main,5,main]: text", ul.Warning, "09:12:44"},
	{"Pekko", "[2024-05-07 09:12:44,123] [WARN] [org.apache.pekko.remote.X] [shop-pekko.actor.default-dispatcher-4] [] - text", ul.Warning, "09:12:44.123"},
	{"Play's console, like a decoration of the JVM", "[error] p.a.h.DefaultHttpErrorHandler - text", ul.Error, ""},
	{"Maven", "[WARNING] The requested profile could not be activated", ul.Unknown, ""},
	{"Spring Boot 1", "2024-05-07 09:12:44.123 ERROR 4711 --- [           main] o.s.boot.SpringApplication : text", ul.Error, "09:12:44.123"},
	{"Spring Boot 3, correlated", "2024-05-07T09:12:44.123Z  WARN 1 --- [shop] [nio-8080-exec-1] [803b448a0489f840-3425f23bb2432450] c.a.Shop : text", ul.Warning, "09:12:44.123"},
	{"Spring Boot 3.4, ECS", `{"@timestamp":"2024-05-07T09:12:44.123Z","log":{"level":"WARN","logger":"c.a.Shop"},"process":{"pid":1,"thread":{"name":"main"}},"service":{"name":"shop"},"message":"text","ecs":{"version":"8.11"}}`, ul.Warning, "09:12:44.123"},
	{"Spring Boot 3.4, GELF", `{"version":"1.1","short_message":"text","timestamp":1715073164.123,"level":3,"_level_name":"ERROR","_process_pid":1,"host":"shop"}`, ul.Error, "09:12:44.123"},
	{"Bunyan, fatal", `{"name":"shop","hostname":"h","pid":1,"component":"x","level":60,"msg":"level:10","time":"2024-05-07T09:12:44.123Z","v":0}`, ul.Error, "09:12:44.123"},
	{"pino, a label and a date", `{"level":"debug","time":"2024-05-07T09:12:44.123Z","msg":"text"}`, ul.Debug, "09:12:44.123"},
	{"Lambda, JSON", `{"timestamp":"2024-05-07T09:12:44.123Z","message":"text","level":"ERROR","AWSRequestId":"8f507cfc"}`, ul.Error, "09:12:44.123"},
	{"Lambda", "2024-05-07 09:12:44 8f507cfc-0000-4697-b07a-ac58fc914c95 ERROR Handler:20 - text", ul.Error, "09:12:44"},
	{"Camel", "2024-05-07 09:12:44,123 [main           ] ERROR AbstractCamelContext           - text", ul.Error, "09:12:44.123"},
	{"Mule", "ERROR 2024-05-07 09:12:44,123 [[MuleRuntime].uber.03: [shop].flow @1] [processor: flow/0; event: 1] org.mule.X: text", ul.Error, "09:12:44.123"},
	{"WSO2", "[2024-05-07 09:12:44,123]  WARN {org.wso2.carbon.core.X} - text", ul.Warning, "09:12:44.123"},
	{"WSO2 with a tenant", "TID: [-1234] [] [2024-05-07 09:12:44,123]  WARN {org.wso2.carbon.core.X} - text", ul.Unknown, ""},
	{"Corda", "[ERROR] 2024-05-07T09:12:44,123Z [main] internal.NodeStartupLogging.invoke - text {}", ul.Error, "09:12:44.123"},
	{"Besu", "2024-05-07 11:12:44.123+02:00 | vertx-blocked-thread-checker | WARN  | BlockedThreadChecker | text", ul.Warning, "09:12:44.123"},
	{"Rundeck", "[2024-05-07T09:12:44,123] ERROR rundeckapp.BootStrap - text", ul.Error, "09:12:44.123"},
	{"CAS", "2024-05-07 09:12:44,123 WARN [org.apereo.cas.X] - <text>", ul.Warning, "09:12:44.123"},
	{"Shibboleth", "2024-05-07 09:12:44,123 - 10.0.0.1 - ERROR [Shibboleth-Audit.SSO:283] - text", ul.Unknown, ""},
	{"IntelliJ", "2024-05-07 09:12:44,123 [   1234] SEVERE - #c.i.o.a.X - text", ul.Error, "09:12:44.123"},
	{"JMeter", "2024-05-07 09:12:44,123 WARN o.a.j.e.StandardJMeterEngine: text", ul.Warning, "09:12:44.123"},
	{"Selenium", "09:12:44.123 WARN [Standalone.execute] - text", ul.Warning, ""},
	{"Paper", "[09:12:44 WARN]: text", ul.Unknown, ""},
	{"Forge", "[07May2024 09:12:44.123] [main/ERROR] [net.x.Mod/]: text", ul.Unknown, ""},
	{"H2", "05-07 09:12:44 jdbc[2]: exception", ul.Unknown, ""},
	{"JUL in XML", "  <level>SEVERE</level>", ul.Unknown, ""},
	{"Log4j in XML", `<log4j:event logger="x" timestamp="1715073164123" level="ERROR" thread="main">`, ul.Unknown, ""},
	{"JUL in English, JDK 17", "May 7, 2024 9:12:44 AM org.apache.X y", ul.Warning, "09:12:44"},
	{"JUL in Spanish", "may 07, 2024 9:12:44 A. M. com.acme.Main main", ul.Unknown, ""},
	{"OpenTelemetry's agent", "[otel.javaagent 2024-05-07 09:12:44:123 +0000] [main] WARN io.opentelemetry.X - text", ul.Unknown, ""},
	{"SLF4J's simple logger", "[main] ERROR com.acme.Shop - text", ul.Unknown, ""},
	{"Docker's json-file", `{"log":"{\"level\":\"error\"}\n","stream":"stdout","time":"2024-05-07T09:12:44.123Z"}`, ul.Unknown, ""},
	{"a container runtime", "2024-05-07T09:12:44.123456789Z stderr F 2024-05-07 09:12:44,123 ERROR text", ul.Unknown, ""},
	{"RFC 5424", "<11>1 2024-05-07T09:12:44.123Z host shop 1 - - ERROR text", ul.Unknown, ""},
	{"RFC 3164", "May  7 09:12:44 host shop[1]: ERROR text", ul.Unknown, ""},
	{"klog", "E0507 09:12:44.123456       1 main.go:7] text", ul.Unknown, ""},
	{"logfmt", "time=2024-05-07T09:12:44.123Z level=ERROR msg=text", ul.Unknown, ""},
	{"etcd", `{"level":"warn","ts":"2024-05-07T09:12:44.123Z","caller":"etcdserver/util.go:123","msg":"text"}`, ul.Warning, "09:12:44.123"},
	{"controller-runtime", "2024-05-07T09:12:44Z\tERROR\tsetup\tproblem running manager", ul.Error, "09:12:44"},
	{"HashiCorp", "2024-05-07T09:12:44.123Z [WARN]  core: text", ul.Warning, "09:12:44.123"},
	{"PostgreSQL", "2024-05-07 09:12:44.123 UTC [123] FATAL:  the database system is starting up", ul.Error, "09:12:44.123"},
	{"PostgreSQL, a statement", "2024-05-07 09:12:44.123 UTC [123] STATEMENT:  select 1", ul.Unknown, ""},
	{"MySQL", "2024-05-07T09:12:44.123000Z 0 [ERROR] [MY-010119] [Server] Aborting", ul.Error, "09:12:44.123"},
	{"MySQL, a note", "2024-05-07T09:12:44.123456Z 0 [Note] [MY-010119] [Server] text", ul.Unknown, ""},
	{"nginx", "2024/05/07 09:12:44 [error] 1#1: *1 text", ul.Unknown, ""},
	{"httpd", "[Tue May 07 09:12:44.123456 2024] [core:error] [pid 1] text", ul.Unknown, ""},
	{"MongoDB", `{"t":{"$date":"2024-05-07T09:12:44.123Z"},"s":"E","c":"NETWORK","msg":"text"}`, ul.Unknown, ""},
	{"Eclipse", "!ENTRY org.eclipse.osgi 4 0 2024-05-07 09:12:44.123", ul.Unknown, ""},
	{"logcat", "05-07 09:12:44.123  1234  1234 E AndroidRuntime: FATAL EXCEPTION", ul.Unknown, ""},

	{"pm", "2024-05-07 09:12:44 pm INFO text", ul.Info, ""},
	{"p.m.", "2024-05-07 09:12:44 p.m. INFO text", ul.Info, ""},
	{"a zone's name in parentheses", "2024-05-07 09:12:44.123 (CEST) INFO text", ul.Info, ""},
	{"an offset in parentheses", "2024-05-07 09:12:44.123 (+02:00) INFO text", ul.Unknown, ""},
	{"a thread in parentheses", "2024-05-07 09:12:44.123 (main) INFO text", ul.Info, "09:12:44.123"},
	{"a zone's offset with GMT in brackets", "2024-05-07 09:12:44.123 [GMT+02:00] INFO text", ul.Info, ""},
	{"an offset of one digit", "2024-05-07 09:12:44.123 UTC+2 INFO text", ul.Info, ""},
	{"an offset in words", "2024-05-07 09:12:44.123 Etc/GMT-2 INFO text", ul.Info, ""},
	{"a level, a date and pm", "INFO  [2024-05-07 09:12:44 pm] com.acme.Shop: text", ul.Info, ""},
	{"seconds as a double of Java", `{"timestamp":1.715073164123E9,"level":"INFO","message":"text"}`, ul.Info, ""},
	{"microseconds", `{"ts":1715073164123456,"level":"INFO","message":"text"}`, ul.Info, ""},
	{"nanoseconds", `{"ts":1715073164123456789,"level":"INFO","message":"text"}`, ul.Info, ""},
	{"a number in quotes", `{"timestamp":"1715073164123","level":"INFO","message":"text"}`, ul.Info, ""},
	{"pm in JSON", `{"time":"2024-05-07 09:12:44 pm","level":"INFO"}`, ul.Info, ""},
	{"text after a time in JSON", `{"time":"2024-05-07T09:12:44.123 local time","level":"INFO"}`, ul.Info, ""},
}

func TestLines(t *testing.T) {
	for _, c := range slices.Concat(lines, productLines) {
		var k Classifier
		if got := k.Classify([]byte(c.line), []byte("WARNING: text\n")); got.Level != c.level {
			t.Errorf("%s: level %s, want %s: %s", c.what, got.Level, c.level, c.line)
		}
		text := ""
		if at, ok := When([]byte(c.line)); ok {
			if text = at.Format("15:04:05.999"); at.Truncate(24*time.Hour) != time.Date(2024, 5, 7, 0, 0, 0, 0, time.UTC) {
				t.Errorf("%s: %s is on the wrong day: %s", c.what, at, c.line)
			}
		}
		if text != c.time {
			t.Errorf("%s: time %q, want %q: %s", c.what, text, c.time, c.line)
		}
	}
}

// A record of unknown level does not inherit the level of another record. JSON objects are the exception: after a record
// in another format, an object may be a further line of that record's message.
func TestDatedLinesInheritNothing(t *testing.T) {
	for _, c := range slices.Concat(lines, productLines) {
		var k Classifier
		k.Classify([]byte("2024-05-07 09:12:43,123 ERROR [main] com.acme.Shop - text"), nil)
		var at stamp
		parse([]byte(c.line), nil, &at)
		if got := k.Classify([]byte(c.line), []byte("WARNING: text\n")); at.dated && c.line[0] != '{' && got.Level != c.level {
			t.Errorf("%s: level %s, want %s: %s", c.what, got.Level, c.level, c.line)
		}
	}
}
