/** The names that `shareEnvironment` has added. */
let shared: string[] = []

/** A copy of the environment of this process, without what `shareEnvironment` has added. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !shared.includes(name)))
}

/**
 * Puts variables into `process.env`, where the code of skills looks for them, in place of those of
 * the last call. Variables that the process already has take precedence.
 */
export function shareEnvironment(variables: Readonly<Record<string, string | undefined>>): void {
  for (const name of shared) delete process.env[name]
  shared = Object.keys(variables).filter(
    (name) => variables[name] !== undefined && process.env[name] === undefined,
  )
  for (const name of shared) process.env[name] = variables[name]
}
