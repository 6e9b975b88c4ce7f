import type { Activity } from '../../core/activity.ts'
import type { Approval } from '../../core/approval.ts'
import type { RecordAudit } from '../../core/audit.ts'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import type { PublicHttp } from '../../core/transport.ts'
import type { Gateways } from '../../engine/gateways.ts'
import type { Outbox } from '../../engine/outbox.ts'
import type { Access } from '../../runtime/access.ts'
import { createApprovalService } from './approval-service.ts'
import { createApprovalAsking } from './asking.ts'
import { approvalClick } from './click.ts'
import { mountApprovalPage } from './page.ts'
import { createApprovalRecorder } from './recorder.ts'
import { approvalWords, createApprovalWords } from './words.ts'

export type Approvals = ReturnType<typeof createApprovals>

/** Makes the approvals feature: the service, the questions to approvers, and the ways to decide. */
export function createApprovals(deps: {
  store: Pick<Store, 'journal' | 'kv' | 'onSignal'>
  outbox: Pick<Outbox, 'reply' | 'sendTo'>
  gateways: Pick<Gateways, 'spec'>
  access: Pick<Access, 'expand' | 'callerAs'>
  logs: Activity
  audit: { record: RecordAudit }
  /** The public URL of the listener. */
  publicUrl(): string | undefined
  /** Dispatches a parked message again. */
  resumeDispatch(message: NonNullable<Approval['message']>, approval: Approval): Promise<void>
  log: Pick<Log, 'warn'>
  now: () => number
}) {
  const { store, access, logs, log, now } = deps
  const asking = createApprovalAsking(deps)
  const service = createApprovalService({
    store,
    onEvent: createApprovalRecorder(logs, deps.audit.record, store.journal),
    async resume(approval) {
      await asking.showDecision(approval)
      if (approval.message) await deps.resumeDispatch(approval.message, approval)
    },
    log,
    now,
  })
  return {
    service,
    /** Asks the approvers of a request to decide. */
    ask: asking.ask,
    /** The skills of `CLICK_ROUTE` and `WORDS_ROUTE`. */
    skills: [approvalClick(service), approvalWords],
    /** See `createApprovalWords`. */
    decide: createApprovalWords(service, store.kv),
    /** Serves the page behind links in mail. */
    mount: (http: PublicHttp) => mountApprovalPage(http, store.kv, service, access.callerAs),
    /** Number of pending requests, up to 1,000. */
    count: async () => (await service.list({ status: 'pending', limit: 1000 })).length,
  }
}
