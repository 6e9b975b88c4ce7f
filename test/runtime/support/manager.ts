import type { TestContext } from 'node:test'
import { z } from 'zod'
import type { Skill } from '../../../src/core/skill.ts'
import {
  createSkillManager,
  type SkillManager,
  type SkillManagerOptions,
} from '../../../src/runtime/manager.ts'
import { cleanup } from './cleanup.ts'
import { createMemoryLog, type LogLine } from './log.ts'
import { servicesWith } from './services.ts'

/** A manager that is closed after the test, with the lines that it logged. */
export async function startManager(
  t: TestContext,
  options: Partial<SkillManagerOptions> & Partial<Parameters<SkillManager['connect']>[0]> = {},
): Promise<SkillManager & { lines: LogLine[] }> {
  const log = createMemoryLog()
  const loadMarkdown = () => Promise.reject(new Error('this test loads no SKILL.md'))
  const { services = servicesWith({}), onEnd, ...rest } = options
  const manager = createSkillManager({ folders: [], log, loadMarkdown, ...rest })
  manager.connect({ services, ...(onEnd && { onEnd }) })
  await manager.reload()
  cleanup(t, () => manager.close())
  return { ...manager, lines: log.lines }
}

/** A skill named `subject`, with defaults for everything that the test does not set. */
export function skillOf(run: Skill['run'], rest: Partial<Skill> = {}): Skill {
  return { name: 'subject', description: 'A skill of a test', args: anything, run, ...rest }
}

const anything = z.looseObject({})
