import { connect, type Socket } from 'node:net'

/** Time limits in ms. `step`: to connect, and for each answer. `end`: for the answer to a complete mail, which is checked first. */
export type SmtpTiming = { step: number; end: number }

/** Some servers make everybody wait half a minute for the greeting. */
export const SMTP_TIMING: SmtpTiming = { step: 60_000, end: 300_000 }

/** What a connection waits for: nothing, the answer to a command, or the answer to a complete mail. */
export type Awaited = 'nothing' | 'step' | 'end'

/** How long a connection may take to say goodbye when all are closed (ms). */
const GOODBYE = 2000

/** Bytes in both directions, and when the last of them passed. */
type Watched = { progress: number; since: number }

/**
 * Opens the sockets of SMTP connections and destroys those on which the server is silent for too long while a mail is
 * being handed over. nodemailer has one limit for all steps, and a complete mail may need minutes.
 */
export function createSmtpSockets(timing: SmtpTiming, awaited: () => Awaited) {
  const sockets = new Map<Socket, Watched>()
  /** Also those that are still connecting. */
  const all = new Set<Socket>()
  let timer: NodeJS.Timeout | undefined

  const silenceOf = (socket: Socket, watched: Watched) => {
    const progress = socket.bytesRead + socket.bytesWritten - socket.writableLength
    if (progress !== watched.progress || awaited() === 'nothing') {
      watched.progress = progress
      watched.since = performance.now()
    }
    return performance.now() - watched.since
  }

  const look = () => {
    const limit = awaited() === 'end' ? timing.end : timing.step
    for (const [socket, watched] of sockets) {
      const silence = silenceOf(socket, watched)
      if (silence <= limit) continue
      const seconds = Math.round(silence / 1000)
      const during = socket.bytesRead === 0 ? 'not greet' : 'not answer'
      socket.destroy(new Error(`the SMTP server did ${during} for ${seconds} s`))
    }
  }

  const watch = (socket: Socket) => {
    sockets.set(socket, { progress: 0, since: performance.now() })
    timer ??= setInterval(look, Math.min(1000, timing.step / 4)).unref()
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size > 0) return
      clearInterval(timer)
      timer = undefined
    })
  }

  return {
    /** For nodemailer's `getSocket`: connects, and begins to watch. */
    open(
      host: string,
      port: number,
      done: (error: Error | null, opened?: { connection: Socket }) => void,
    ): void {
      const socket = connect({ host, port, keepAlive: true })
      const late = new Error(`no connection to ${host}:${port} within ${timing.step / 1000} s`)
      const patience = setTimeout(() => socket.destroy(late), timing.step)
      let isOpen = false
      all.add(socket)
      socket.once('close', () => {
        clearTimeout(patience)
        all.delete(socket)
      })
      // It stays attached: an error event without a listener would end the process.
      socket.on('error', (error) => {
        if (!isOpen) done(error)
      })
      socket.once('connect', () => {
        clearTimeout(patience)
        isOpen = true
        watch(socket)
        done(null, { connection: socket })
      })
    },
    /** Ends what is left of the connections soon, and lets the process end before. */
    close(): void {
      for (const socket of all) socket.unref()
      setTimeout(() => {
        for (const socket of all) socket.destroy(new Error('the gateway was stopped'))
      }, GOODBYE).unref()
    },
    /** How long the server has been silent while something is awaited (ms), on the connection on which it is longest. */
    longestSilence(): number {
      if (awaited() === 'nothing') return 0
      return Math.max(0, ...[...sockets].map(([socket, watched]) => silenceOf(socket, watched)))
    },
  }
}
