import { join } from 'node:path'
import { createSqliteValues } from '../../src/state/documents/sqlite-values.ts'
import { createStoreBackend, type EventLimits } from '../../src/state/documents/store-backend.ts'
import { temporaryDir } from './kit.ts'
import { describeLogLimits } from './log-limits.contract.ts'
import { describeManager } from './manager.contract.ts'

const open = (path: string, limits?: EventLimits) => () => {
  const values = createSqliteValues(path)
  return createStoreBackend({ values, close: values.close, ...(limits && { limits }) })
}

describeManager('SQLite', async (t) => open(join(temporaryDir(t), 'documents.db')))
describeLogLimits('SQLite', async (t, limits) => open(join(temporaryDir(t), 'documents.db'), limits))
