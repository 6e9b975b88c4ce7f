import { isJsonObject, type JsonObject } from '../core/json.ts'
import type { Path, Problem } from './yaml-file.ts'

/** Remembers keys that are parsed under another name than they have in the file. */
export function createRenamedKeys() {
  const renames: { from: Path; to: Path }[] = []
  return {
    renamed: (from: Path, to: Path) => void renames.push({ from, to }),
    /** The path as it is in the file. */
    inFile(path: Path): Path {
      const found = renames.find(({ to }) => to.every((step, index) => step === path[index]))
      return found ? [...found.from, ...path.slice(found.to.length)] : path
    },
  }
}

type Notes = {
  report(path: Path, what: 'key', message: string, severity: Problem['severity']): void
  renamed(from: Path, to: Path): void
}

/**
 * Renames former spellings of keys, with a warning for each. `former`: the new name of a key, by
 * its former path (`a.b`). With both spellings of a key, the former one stays and is an unknown
 * key.
 */
export function withoutFormerKeys(
  value: JsonObject,
  former: Readonly<Record<string, string>>,
  base: Path,
  notes: Notes,
): JsonObject {
  let renamed = value
  for (const [formerPath, name] of Object.entries(former)) {
    const path = formerPath.split('.')
    renamed = renameAt(renamed, path, name, () => {
      const from = [...base, ...path]
      const to = [...base, ...path.slice(0, -1), name]
      notes.report(from, 'key', `\`${path.at(-1)}\` is now written \`${name}\``, 'warning')
      notes.renamed(from, to)
    })
  }
  return renamed
}

/** Renames the key at a path, and calls `found`, if it exists and the new name does not. */
function renameAt(
  value: JsonObject,
  [step = '', ...rest]: readonly string[],
  name: string,
  found: () => void,
): JsonObject {
  const inner = value[step]
  if (rest.length > 0) {
    return isJsonObject(inner) ? { ...value, [step]: renameAt(inner, rest, name, found) } : value
  }
  if (inner === undefined || Object.hasOwn(value, name)) return value
  found()
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key === step ? name : key, each]))
}
