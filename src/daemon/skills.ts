import { currencyOf } from '../core/budget.ts'
import { isInternalSkill } from '../core/internal-skills.ts'
import type { Approvals } from '../features/approvals/create-approvals.ts'
import { createApprovalMiddleware } from '../features/approvals/middleware.ts'
import { createAuditMiddleware, createRefusedCalls } from '../features/audit/middleware.ts'
import { createPlaceOf } from '../features/audit/place-of.ts'
import { createBudgets } from '../features/budget/budgets.ts'
import { handOverClick } from '../features/pauses/click.ts'
import type { Pauses } from '../features/pauses/pauses.ts'
import { createPauseRecords } from '../features/pauses/records.ts'
import { createUsage } from '../features/usage/usage.ts'
import { defined } from '../lib/defined.ts'
import { createSkillManager } from '../runtime/manager.ts'
import { createMarkdownLoader } from '../runtime/markdown/loader.ts'
import { createMcpLogins } from '../runtime/mcp/logins.ts'
import { createMcpServers } from '../runtime/mcp/servers.ts'
import { createMiddleware } from '../runtime/middleware/index.ts'
import { createRunRecords } from '../runtime/model/run-record.ts'
import { createRuntimeServices } from '../runtime/services.ts'
import { builtInSkills } from './built-in-skills.ts'
import type { Foundation } from './foundation.ts'
import { SHIPPED_SKILLS } from './known-skills.ts'

/** Makes the skill manager, which has no skills before `connect`, and the services for skills. */
export function makeSkills(
  base: Foundation,
  approvals: Pick<Approvals, 'ask' | 'skills'>,
  pauses: Pauses['view'],
) {
  const pauseOf = (skill: string) => pauses.pauseOfSkill(skill)
  const { config, store, metrics, tracing, access, audit, router, note, dataDir, version, log, now } = base
  const runs = createRunRecords(store.kv)
  const handOver = handOverClick({
    gateways: base.gateways,
    pauses: createPauseRecords(store.kv),
    record: audit.record,
  })
  const builtIn = [...builtInSkills, ...approvals.skills, handOver]
  const usage = createUsage({ kv: store.kv, clean: base.clean, log, now })
  const budgets = createBudgets({
    kv: store.kv,
    budget: () => config().model?.budget,
    prices: () => config().model?.prices ?? {},
    refused: metrics.overBudget,
    async used(call, step) {
      const { model, inputTokens, outputTokens, money } = step
      metrics.tokens(model, inputTokens, outputTokens)
      if (money !== undefined) metrics.cost(model, money)
      await usage.spent({ ...step, skill: call.skill }, call)
    },
    recent: usage.recent,
    log,
    now,
  })
  const mcp = createMcpServers({ version, kv: store.kv, login: createMcpLogins(dataDir).of, log })
  const services = createRuntimeServices({ store, dataDir, log, now })
  const manager = createSkillManager({
    folders: [...config().skills.folders, SHIPPED_SKILLS],
    shippedFolder: SHIPPED_SKILLS,
    globals: services.globals,
    redact: base.clean,
    refused: createRefusedCalls({ record: audit.record }),
    skills: builtIn,
    middleware: [
      createAuditMiddleware({ record: audit.record, placeOf: createPlaceOf(store.journal) }),
      usage.middleware,
      ...createMiddleware({ access: access.rules, isOpen: isInternalSkill }),
      createApprovalMiddleware(approvals.ask, pauseOf),
      ...(tracing ? [tracing.middleware] : []),
    ],
    loadMarkdown: createMarkdownLoader({
      sources: () => ({ model: config().model, env: config().environment }),
      runs,
      budgets,
      telemetry: tracing?.models,
      onUsage({ messageId, ...detail }) {
        const currency = detail.money === undefined ? undefined : currencyOf(config().model)
        const noted = { ...detail, ...defined({ currency }) }
        if (messageId !== undefined) note(messageId, { road: 'dispatch', what: 'model', detail: noted })
      },
    }),
    missing: mcp.missing,
    pauseOf,
    approvalOf: (skill) => router.routes().find((route) => route.skill === skill && route.approval)?.approval,
    log,
  })
  return { manager, mcp, runs, budgets, services, usage }
}
