import { join } from 'node:path'
import { createSqliteValues } from '../../src/state/documents/sqlite-values.ts'
import { createStoreBackend } from '../../src/state/documents/store-backend.ts'
import { temporaryDir } from './kit.ts'
import { describeManager } from './manager.contract.ts'

describeManager('SQLite', async (t) => {
  const path = join(temporaryDir(t), 'documents.db')
  return () => {
    const values = createSqliteValues(path)
    return createStoreBackend({ values, close: values.close })
  }
})
