import { execFile } from 'node:child_process'
import type { Log } from '../core/log.ts'

/** The variables that systemd sets for a service with `Type=notify`, and with `WatchdogSec=`. */
type SystemdEnvironment = Readonly<Record<string, string | undefined>>

export type SystemdNotifier = ReturnType<typeof createSystemdNotifier>

/**
 * Notifies systemd that the daemon is ready, stopping, or alive (at half the watchdog interval,
 * from the event loop). Runs `systemd-notify`, because Node has no datagrams over Unix sockets; the
 * unit needs `NotifyAccess=all`. Does nothing without systemd. Logs a failed message once.
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
    /** Call it once the daemon accepts messages. Resolves when systemd has been notified. */
    async ready(status: string): Promise<void> {
      if (!socket) return
      await tell('--ready', `--status=${status}`)
      if (isWatched) timer = setInterval(() => void tell('WATCHDOG=1'), period).unref()
    },
    /**
     * Call it when a stop begins. The watchdog continues until `close`, because a drain may take
     * longer than its interval.
     */
    stopping(): void {
      if (socket) void tell('STOPPING=1', 'STATUS=draining')
    },
    close(): void {
      clearInterval(timer)
    },
  }
}

/** In ms. */
const NOTIFY_TIMEOUT = 10_000
