import { TROUBLES } from '../../core/trouble.ts'
import type { Makers } from './makers.ts'
import type { Readings } from './readings.ts'

/** Gauges of this daemon and its gateways, set when metrics are requested. */
export function createDaemonGauges({ gauge }: Makers) {
  const storeUp = gauge('store_up', '1 if the store accepts writes.')
  const reloaded = gauge('config_last_reload_successful', '1 if the last reload succeeded.')
  const reloadedAt = gauge(
    'config_last_reload_success_timestamp_seconds',
    'Time of the last successful reload.',
  )
  const up = gauge('gateway_up', '1 if the gateway works.', 'gateway')
  const connections = gauge('gateway_connections', 'Open connections to the provider.', 'gateway')
  const lastEvent = gauge(
    'gateway_last_event_timestamp_seconds',
    'Time of the last sign of life from the provider.',
    'gateway',
  )
  const runningFor = gauge(
    'oldest_running_seconds',
    'Age of the oldest running attempt in this daemon.',
    'road',
    'gateway',
  )
  const troubleCounts = gauge('troubles', 'Current troubles, by code.', 'code')

  return ({ takesWrites, reload, gateways, running, troubles }: Readings, now: number): void => {
    for (const each of [up, connections, lastEvent, runningFor]) each.reset()
    storeUp.set(takesWrites ? 1 : 0)
    for (const code of TROUBLES)
      troubleCounts.set({ code }, troubles.filter((one) => one.code === code).length)
    reloaded.set(reload.ok ? 1 : 0)
    reloadedAt.set(reload.goodAt / 1000)
    for (const { name: gateway, ok, gauges = {} } of gateways) {
      const { connections: open, secondsSinceEvent } = gauges
      up.set({ gateway }, ok ? 1 : 0)
      if (open !== undefined) connections.set({ gateway }, open)
      if (secondsSinceEvent !== undefined) lastEvent.set({ gateway }, now / 1000 - secondsSinceEvent)
      for (const road of ['dispatch', 'outbox']) runningFor.set({ road, gateway }, 0)
    }
    // Sorted so that the oldest of each road and gateway is set last.
    for (const { road, gateway, since } of running.toSorted((a, b) => b.since - a.since))
      runningFor.set({ road, gateway }, secondsSince(since, now))
  }
}

/** Age in seconds of a time (Unix ms); 0 if another daemon's clock is ahead. */
export function secondsSince(at: number, now: number): number {
  return Math.max(0, (now - at) / 1000)
}
