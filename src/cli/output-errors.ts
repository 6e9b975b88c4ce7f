const ignore = () => {}

/**
 * Ends a command whose output cannot be written: with 0 if its reader has closed the pipe (`|
 * head`), else with 1 and the reason, such as a full disk.
 */
export function endWithoutOutput(): void {
  process.stderr.on('error', ignore)
  process.stdout.on('error', end)
}

/** For daemons, which continue without their output. */
export function continueWithoutOutput(): void {
  process.stdout.off('error', end).on('error', ignore)
}

function end(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write(`The output cannot be written: ${error.message}\n`)
  process.exit(1)
}
