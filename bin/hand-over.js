import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const REPEAT_WITHIN_MS = 500

/**
 * Continues as another program. Replaces this process where Node can (22.15 or newer, not on
 * Windows); else runs the program as a child, and passes on signals and the exit status. Must run
 * on Node 20.
 *
 * @param {string} file
 * @param {readonly string[]} args
 */
export function handOver(file, args) {
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    process.execve(file, [file, ...args], process.env)
  }
  const child = spawn(file, args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forwardOnce(child, signal))
  child.on('error', (error) => {
    console.error(`Cannot run ${file}: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
}

/** One Ctrl-C reaches this process twice: from the terminal and from npm. It is passed on once. */
function forwardOnce(child, signal) {
  let last = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now - last >= REPEAT_WITHIN_MS) child.kill(signal)
    last = now
  }
}
