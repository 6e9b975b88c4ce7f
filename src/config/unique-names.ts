import { quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import type { Path } from './yaml-file.ts'

/**
 * Makes a function that reports a name which an earlier element of the section has. `path`: the
 * path of the element. `kind`: the noun for messages, in the plural.
 */
export function createUniqueNames(kind: string, checker: Checker): (name: string, path: Path) => void {
  const places = new Map<string, string>()
  return (name, path) => {
    const other = places.get(name)
    if (other === undefined) {
      places.set(name, checker.placeOf(path))
      return
    }
    const message = `there are two ${kind} ${quote(name)}; the other is in ${other}`
    checker.report([...path, 'name'], 'value', message)
  }
}
