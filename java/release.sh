#!/usr/bin/env bash
# release.sh publishes the jars into a directory, signed by a key of its own. Then projects that know only the
# coordinates log with the jars: one of Maven and, if Gradle is installed, one of Gradle. Maven fetches its plugins
# once.
set -euo pipefail
cd "$(dirname "$0")"

maven() { mvn -q -B -Dstyle.color=never "$@"; }
work=$(mktemp -d /dev/shm/ullage-release.XXXXXX)
version=0.0.$$
cache=$(maven -N -f libraries/pom.xml help:evaluate -Dexpression=settings.localRepository -DforceStdout | sed 's/\x1b\[[0-9;]*m//g')
trap 'gpgconf --homedir "$work/keys" --kill all; rm -rf "$work" "$cache"/dev/ullage/*/"$version"' EXIT
fail() { echo "$*" >&2; exit 1; }

export GNUPGHOME=$work/keys
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'dry run <nobody@example.com>' ed25519 sign never

repository=$work/repository
maven -f pom.xml -Psign deploy -Drevision="$version" -Dmaven.install.skip=true -DaltDeploymentRepository="local::file://$repository"

# Maven Central requires all of this.
for artifact in java bom log logback log4j2; do
    base=$repository/dev/ullage/ullage-$artifact/$version/ullage-$artifact-$version
    files=("$base.pom")
    case $artifact in java | bom) ;; *) files+=("$base.jar" "$base-sources.jar" "$base-javadoc.jar") ;; esac
    for file in "${files[@]}"; do
        gpg --batch --quiet --verify "$file.asc" "$file" 2>"$work/verify" || fail "$file is not signed: $(cat "$work/verify")"
    done
    for element in name description url licenses scm developers; do
        grep -q "^  <$element[ >]" "$base.pom" || fail "$base.pom has no <$element>"
    done
    [ "$(grep -c '^ *<url>https://github.com/ullage/ullage</url>' "$base.pom")" = 2 ] || fail "$base.pom: its URLs are not those of the project"
    ! grep -q 'SNAPSHOT\|\${revision}' "$base.pom" || fail "$base.pom has no version of its own"
    echo "ullage-$artifact: signed, complete"
done
for jar in logback:logback-classic log4j2:log4j-core; do
    pom=$repository/dev/ullage/ullage-${jar%:*}/$version/ullage-${jar%:*}-$version.pom
    grep -A3 "<artifactId>${jar#*:}</artifactId>" "$pom" | grep -q '<scope>provided</scope>' || fail "$pom brings ${jar#*:} along"
done

mkdir -p "$work/project/src/main/java" "$work/project/src/main/resources"
cd "$work/project"
cat >src/main/java/Shop.java <<'JAVA'
class Shop {
    public static void main(String[] args) {
        org.slf4j.LoggerFactory.getLogger("shop").info("order {} is paid", 17);
    }
}
JAVA
cat >src/main/resources/logback.xml <<'XML'
<configuration>
  <appender name="ULLAGE" class="dev.ullage.log.logback.UllageAppender"/>
  <root level="INFO"><appender-ref ref="ULLAGE"/></root>
</configuration>
XML
cat >pom.xml <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>shop</artifactId>
  <version>1</version>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
  <repositories><repository><id>local</id><url>file://$repository</url></repository></repositories>
  <dependencyManagement><dependencies>
    <dependency><groupId>dev.ullage</groupId><artifactId>ullage-bom</artifactId><version>$version</version><type>pom</type><scope>import</scope></dependency>
  </dependencies></dependencyManagement>
  <dependencies>
    <dependency><groupId>dev.ullage</groupId><artifactId>ullage-logback</artifactId></dependency>
    <dependency><groupId>ch.qos.logback</groupId><artifactId>logback-classic</artifactId><version>1.4.14</version></dependency>
  </dependencies>
</project>
XML
cat >build.gradle <<GRADLE
apply plugin: 'java'
repositories {
    maven { url 'file://$repository' }
    maven { url 'file://$cache' }
    mavenCentral()
}
dependencies {
    runtimeOnly 'dev.ullage:ullage-logback:$version'
    implementation 'ch.qos.logback:logback-classic:1.4.14'
}
task path(dependsOn: classes) {
    doLast { new File('$work/path').text = sourceSets.main.runtimeClasspath.asPath }
}
GRADLE

# logs WHO runs the project with the class path in the file path, and checks that it logs into a ring.
logs() {
    ! tr : '\n' <"$work/path" | grep -F 'logback-classic' | grep -vq '1\.4\.14' || fail "$1: the version of Logback is not the project's"
    mkdir "$work/ring"
    java -XX:TieredStopAtLevel=1 -Dullage.events="$work/ring,size=256Ki" -cp "$(cat "$work/path")" Shop >"$work/out" 2>&1 || fail "$1: $(cat "$work/out")"
    grep -q 'shop order 17 is paid' "$work"/ring/events-*.ring || fail "$1: the ring has no event: $(cat "$work/out")"
    rm -r "$work/ring"
    echo "$1: a project logs by coordinates"
}
maven compile org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath -Dmdep.outputFile="$work/libraries"
echo "$work/project/target/classes:$(cat "$work/libraries")" >"$work/path"
logs Maven
if command -v gradle >/dev/null; then
    gradle -q --console=plain --no-daemon --project-cache-dir "$work/gradle" --gradle-user-home "$work/home" path >"$work/out" 2>&1 || fail "Gradle: $(cat "$work/out")"
    logs Gradle
else
    echo "Gradle: not tested, since it is not installed"
fi
