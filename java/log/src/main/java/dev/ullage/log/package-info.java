/**
 * Events of an application, without a lock, a system call, a wait or an allocation.
 *
 * <p>{@link dev.ullage.log.EventLog} is the whole interface for applications. {@link dev.ullage.log.Line}
 * is for front ends of logging libraries. The environment variable {@code ULLAGE_EVENTS}, which ullage's
 * injector sets, names the directory of the ring; without it, every call is a no-op.
 */
package dev.ullage.log;
