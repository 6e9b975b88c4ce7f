/** How often (ms) it is checked whether the parent process is still there. */
const LOOK_EVERY = 500

/**
 * Calls `gone` once if this process was started by npm (`npx trivium start`, a script of package.json) and its parent ends.
 * npm passes signals only to the shell between, which then ends alone: the daemon would be left running.
 */
export function watchNpmParent(env: Readonly<Record<string, string | undefined>>, gone: () => void): void {
  if (env.npm_command === undefined) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    gone()
  }, LOOK_EVERY)
  timer.unref()
}
