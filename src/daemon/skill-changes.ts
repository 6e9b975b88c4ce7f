import { parse, sep } from 'node:path'
import { SYSTEM } from '../core/audit.ts'
import { shortened } from './configuration-changes.ts'
import type { Foundation } from './foundation.ts'

/** Maximum characters of an error in an entry. */
const LONGEST_ERROR = 200

type Broken = { name: string; reason: string }

/**
 * Makes the function that records in the audit log that files of skills were changed, and whether the
 * skills load. `files`: paths in their folder, such as `orders/index.ts`. Nothing in the files says
 * who changed them. `clean` redacts secrets.
 */
export function createSkillChanges(
  { audit, clean }: Pick<Foundation, 'audit' | 'clean'>,
  errors: () => readonly Broken[],
) {
  return (files: readonly string[]): void => {
    if (files.length === 0) return
    const skills = [...new Set(files.map(skillOf))].sort()
    const broken = errors().find(({ name }) => skills.includes(name))
    // Without waiting: the store may be unreachable.
    void audit.record({
      by: SYSTEM,
      via: 'system',
      action: 'skill-change',
      target: { skills: shortened(skills), files: shortened(files) },
      ...(broken
        ? { outcome: 'skill_broken', error: clean(broken.reason).slice(0, LONGEST_ERROR) }
        : { outcome: 'ok' }),
    })
  }
}

/** The skill that a file belongs to: its folder, or its own name beside the folders. */
function skillOf(file: string): string {
  const [first = file] = file.split(sep)
  return parse(first).name
}
