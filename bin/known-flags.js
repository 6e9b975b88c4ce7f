import { spawnSync } from 'node:child_process'

/**
 * The flags that a Node accepts. Each check starts a process, which takes 40 ms.
 *
 * @param {string} file
 * @param {readonly string[]} flags
 */
export function knownFlags(file, flags) {
  return accepts(file, flags) ? flags : flags.filter((flag) => accepts(file, [flag]))
}

/** Node ends with "bad option" before it prints its version. */
function accepts(file, flags) {
  return spawnSync(file, [...flags, '--version'], { stdio: 'ignore' }).status === 0
}
