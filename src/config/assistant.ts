import type { z } from 'zod'
import type { RoutedSkill } from './gateways.ts'
import type { sections } from './sections.ts'

/** Adds `enabled` to the section `assistant`. */
export function assistantOf(section: z.infer<typeof sections.assistant>) {
  const defaults = { scope: 'person', timezone: 'UTC' } as const
  return typeof section === 'boolean' ? { enabled: section, ...defaults } : { enabled: true, ...section }
}

/** The skills without the words of the assistant, so that no message reaches it. Words of the project stay. */
export function withoutAssistant(skills: readonly RoutedSkill[]): RoutedSkill[] {
  return skills.map((skill) =>
    skill.isShipped && skill.metadata?.prefixes !== undefined ? { ...skill, metadata: {} } : skill,
  )
}
