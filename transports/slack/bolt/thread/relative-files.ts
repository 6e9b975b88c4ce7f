import fs, { realpathSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isAbsolute, resolve } from 'node:path'
import { attempt } from '../../../../src/lib/attempt.ts'
import { folderOf } from './typescript.ts'

/**
 * Functions of `node:fs`, also of its promises, that use the file or folder of their first
 * argument.
 */
const FUNCTIONS = [
  'open',
  'readFile',
  'writeFile',
  'appendFile',
  'mkdir',
  'readdir',
  'stat',
  'access',
].flatMap((name) => [name, `${name}Sync`])
const ONLY_OF_FS = ['existsSync', 'createReadStream', 'createWriteStream']

/** An app that makes up names would otherwise fill the log. */
const MAX_WARNINGS = 5

/**
 * Warns when the app uses a file by a relative path, if that is not relative to the app's own
 * folder: a thread shares the current folder of the daemon. Changes the functions of this thread
 * only.
 */
export function warnOfRelativeFiles(file: string, warn: (text: string) => void): void {
  const folder = folderOf(file)
  const here = process.cwd()
  if (attempt(() => realpathSync(folder)) === here) return
  const seen = new Set<string>()
  const see = (path: unknown) => {
    if (typeof path !== 'string' || isAbsolute(path) || seen.has(path) || seen.size === MAX_WARNINGS) return
    seen.add(path)
    warn(
      `it uses the relative path ${JSON.stringify(path)}, which is ${resolve(path)}: relative paths begin in the folder ` +
        `of the daemon (${here}), not in that of the app (${folder}). Start the daemon in the folder of the app, or use __dirname`,
    )
  }
  for (const name of [...FUNCTIONS, ...ONLY_OF_FS]) watch(fs, name, see)
  for (const name of FUNCTIONS) watch(fs.promises, name, see)
  syncBuiltinESMExports()
}

/** Shows `see` the first argument of each call of a function. */
function watch(target: object, name: string, see: (path: unknown) => void): void {
  const original: unknown = Reflect.get(target, name)
  if (typeof original !== 'function') return
  const apply = (self: unknown, args: unknown[]) => {
    see(args[0])
    return Reflect.apply(original, self, args)
  }
  Reflect.set(target, name, new Proxy(original, { apply: (_, self, args) => apply(self, args) }))
}
