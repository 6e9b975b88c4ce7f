/** What `import … from 'trivium'` gives to a skill. */
export { z } from 'zod'
export { TriviumError } from '../core/errors.ts'
export type { Message } from '../core/message.ts'
export type { Middleware, Skill, SkillContext } from '../core/skill.ts'
export { defineMiddleware, defineSkill } from '../core/skill.ts'
