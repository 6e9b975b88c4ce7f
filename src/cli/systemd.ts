import { execFile } from 'node:child_process'
import type { Log } from '../core/log.ts'

/**
 * The environment. systemd sets NOTIFY_SOCKET for `Type=notify`, WATCHDOG_USEC and WATCHDOG_PID for
 * `WatchdogSec=`.
 */
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
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  const notify = (...words: string[]): Promise<void> =>
    new Promise((resolve) => {
      execFile('systemd-notify', words, { timeout: NOTIFY_TIMEOUT }, (error) => {
        if (error && !hasFailed) log.warn({ err: error }, 'systemd could not be notified')
        hasFailed ||= error !== null
        resolve()
      })
    })
  // Half of the watchdog interval, in ms.
  const period = Number(microseconds) / 1_000 / 2
  const isWatched = period > 0 && (pid === undefined || Number(pid) === process.pid)

  return {
    /** Call it once the daemon accepts messages. Resolves when systemd has been notified. */
    async ready(status: string): Promise<void> {
      if (!socket) return
      await notify('--ready', `--status=${status}`)
      if (isWatched && !isClosed) timer = setInterval(() => void notify('WATCHDOG=1'), period).unref()
    },
    /**
     * Call it when a stop begins. The watchdog continues until `close`, because a drain may take
     * longer than its interval.
     */
    stopping(): void {
      if (socket) void notify('STOPPING=1', 'STATUS=draining')
    },
    close(): void {
      isClosed = true
      clearInterval(timer)
    },
  }
}

/** Time limit (ms) of `systemd-notify`. */
const NOTIFY_TIMEOUT = 10_000
