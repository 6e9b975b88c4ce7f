/** Interval (ms) for checking whether the parent process still exists. */
const CHECK_INTERVAL = 500

/**
 * If npm started this process (`npx trivium start`, a script of package.json), calls `onParentEnd`
 * once its parent has ended. npm passes signals only to the shell between itself and this process.
 * The shell ends, and this process would continue.
 */
export function watchNpmParent(
  env: Readonly<Record<string, string | undefined>>,
  onParentEnd: () => void,
): void {
  if (env.npm_command === undefined) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onParentEnd()
  }, CHECK_INTERVAL)
  timer.unref()
}
