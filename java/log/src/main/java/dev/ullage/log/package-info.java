/**
 * Logs the events of an application into a ring without a lock or an allocation. A call waits only if the ring is full
 * and the setting {@code wait} asks for that.
 *
 * <p>{@link dev.ullage.log.EventLog} is the complete interface for applications. {@link dev.ullage.log.Line} is for
 * front ends of logging libraries. The environment variable {@code ULLAGE_EVENTS}, which ullage's injector sets,
 * names the directory of the ring. Without it, all calls do nothing.
 */
package dev.ullage.log;
