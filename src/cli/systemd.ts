import { execFile } from 'node:child_process'
import type { Log } from '../core/log.ts'

/** What systemd sets for a service with `Type=notify`, and with `WatchdogSec=`. */
type SystemdEnvironment = Readonly<Record<string, string | undefined>>

export type SystemdNotifier = ReturnType<typeof createSystemdNotifier>

/**
 * Tells systemd that the daemon is ready, stops, and is alive: a message each half of the watchdog's time, from the event loop. It
 * runs `systemd-notify`, because Node has no datagrams over Unix sockets; the unit needs `NotifyAccess=all`. Without systemd it does
 * nothing. A message that cannot be sent is a warning, once.
 */
export function createSystemdNotifier(env: SystemdEnvironment, log: Pick<Log, 'warn'>) {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: microseconds, WATCHDOG_PID: pid } = env
  let hasFailed = false
  let timer: NodeJS.Timeout | undefined
  const tell = (...words: string[]): Promise<void> =>
    new Promise((resolve) => {
      execFile('systemd-notify', words, { timeout: NOTIFY_TIMEOUT }, (error) => {
        if (error && !hasFailed) log.warn({ err: error }, 'systemd cannot be told how the daemon is')
        hasFailed ||= error !== null
        resolve()
      })
    })
  const period = Number(microseconds) / 2_000
  const isWatched = period > 0 && (pid === undefined || Number(pid) === process.pid)

  return {
    /** Call it once the daemon takes messages. Resolves when systemd knows. */
    async ready(status: string): Promise<void> {
      if (!socket) return
      await tell('--ready', `--status=${status}`)
      if (isWatched) timer = setInterval(() => void tell('WATCHDOG=1'), period).unref()
    },
    /** Call it when a stop begins. The watchdog goes on until `close`: a drain may take longer than its time. */
    stopping(): void {
      if (socket) void tell('STOPPING=1', 'STATUS=draining')
    },
    close(): void {
      clearInterval(timer)
    },
  }
}

/** Ms. */
const NOTIFY_TIMEOUT = 10_000
