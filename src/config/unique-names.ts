import { quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import type { Path } from './yaml-file.ts'

/**
 * Makes a function that reports a `name` that another element of the section has already. `path`:
 * the path of the element; `kind`: noun for messages, in the plural.
 */
export function createNames(kind: string, checker: Checker): (name: string, path: Path) => void {
  const places = new Map<string, string>()
  return (name, path) => {
    const other = places.get(name)
    const message = `there are two ${kind} ${quote(name)}; the other is in ${other}`
    if (other !== undefined) checker.report([...path, 'name'], 'value', message)
    else places.set(name, checker.placeOf(path))
  }
}
