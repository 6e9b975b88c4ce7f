import { quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import type { Path } from './yaml-file.ts'

/** Returns what reports a name, at the `name` of a path, that another element of a section has too. `kind`: what they are, in the plural. */
export function createNames(kind: string, checker: Checker): (name: string, path: Path) => void {
  const places = new Map<string, string>()
  return (name, path) => {
    const other = places.get(name)
    const message = `there are two ${kind} ${quote(name)}; ${other} has it too`
    if (other !== undefined) checker.report([...path, 'name'], 'value', message)
    else places.set(name, checker.placeOf(path))
  }
}
