/** The exports of `trivium` for skills, and for programs with their own documents. */
export { z } from 'zod'
export { TriviumError } from './core/errors.ts'
export type { Message } from './core/message.ts'
export type { Middleware, Skill, SkillContext } from './core/skill.ts'
export { defineMiddleware, defineSkill } from './core/skill.ts'
export type { StateDocument, UpdateOptions } from './features/documents/document.ts'
export { createStateManager, type StateManager } from './features/documents/manager.ts'
export type { Actor, DocumentSpec, Snapshot } from './features/documents/spec.ts'
