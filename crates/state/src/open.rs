//! Opening the state of an operator's subtask: new, or from the runs of a snapshot.

use crate::evolve::Evolution;
use crate::operator::{BroadcastTable, ListTable, UnionListTable};
use crate::panes::PaneTable;
use crate::run::{RunReader, Section};
use crate::snapshot::{StateKind, StateSchema};
use crate::table::KeyedTable;
use crate::timers::{TimerTable, Times};
use flugs_batch::data::{DecodeError, Incompatible, Reader, Schema};
use flugs_batch::{Data, Key};
use flugs_types::{Error, KeyGroup, KeyGroupRange, Result, SubtaskId, hash_key};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an operator's subtask opens its state from.
///
/// Each name is opened once. A name that the snapshot has opens with the entries that are this subtask's, one that it
/// does not have opens empty. Where the stored schema differs from the asked one, values are converted, or the
/// opening fails with an error of state that shows both.
pub struct OpenState {
    subtask: SubtaskId,
    restored: Vec<Arc<RunReader>>,
    opened: Vec<(String, StateSchema)>,
}

impl OpenState {
    /// From the runs of all old subtasks that may concern this one: for keyed state those whose key groups overlap,
    /// for operator state all. None: the operator starts anew.
    pub fn new(subtask: SubtaskId, mut restored: Vec<Arc<RunReader>>) -> Self {
        restored.sort_by_key(|run| run.subtask().index);
        OpenState { subtask, restored, opened: Vec::new() }
    }

    /// Whose state it is.
    pub fn subtask(&self) -> SubtaskId {
        self.subtask
    }

    /// The key groups that are this subtask's.
    pub fn groups(&self) -> KeyGroupRange {
        KeyGroupRange::of(self.subtask)
    }

    /// Whether there is a snapshot to restore from.
    pub fn is_restored(&self) -> bool {
        !self.restored.is_empty()
    }

    /// What was opened: every table of it must be shown to the snapshots to come.
    pub fn opened(&self) -> &[(String, StateSchema)] {
        &self.opened
    }

    /// The names in the snapshot that nobody opened, sorted.
    pub fn unclaimed(&self) -> Vec<String> {
        let all = self.restored.iter().flat_map(|run| run.sections()).map(Section::name);
        let mut names: Vec<_> = all
            .filter(|name| self.opened.iter().all(|(opened, _)| opened != name))
            .map(str::to_owned)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Opens state with a value a key.
    pub fn keyed<K: Key, V: Data>(&mut self, name: &str) -> Result<KeyedTable<K, V>> {
        self.keyed_of(StateKind::Keyed, name)
    }

    /// Opens timers.
    pub fn timers<K: Key>(&mut self, name: &str) -> Result<TimerTable<K>> {
        Ok(TimerTable::restored(self.keyed_of::<K, Times>(StateKind::Timers, name)?))
    }

    fn keyed_of<K: Key, V: Data>(&mut self, kind: StateKind, name: &str) -> Result<KeyedTable<K, V>> {
        let schema = StateSchema { kind, key: K::schema(), value: V::schema() };
        self.admit(name, &schema)?;
        let mut table = KeyedTable::new(name, self.groups());
        self.for_each_keyed(name, &schema, |plan, input| {
            let (key, value): (K, V) = (plan.key(input)?, plan.value(input)?);
            let hash = hash_key(&key);
            let keep = plan.keep(hash)?;
            if keep && table.insert(key, value).is_some() {
                return Err(twice());
            }
            Ok(())
        })?;
        Ok(table)
    }

    /// Opens state with a value a namespace and key.
    pub fn panes<K: Key, N: Data + Ord, V: Data>(&mut self, name: &str) -> Result<PaneTable<K, N, V>> {
        let pair = Schema::Tuple(vec![N::schema(), K::schema()]);
        let schema = StateSchema { kind: StateKind::KeyedPanes, key: pair, value: V::schema() };
        self.admit(name, &schema)?;
        let mut table = PaneTable::new(name, self.groups());
        self.for_each_keyed(name, &schema, |plan, input| {
            let (namespace, key): (N, K) = plan.key(input)?;
            let value = plan.value(input)?;
            if plan.keep(hash_key(&key))? && table.pane_mut(namespace).insert(key, value).is_some() {
                return Err(twice());
            }
            Ok(())
        })?;
        Ok(table)
    }

    /// Opens a list that is dealt out item by item: with unchanged parallelism each subtask gets its own items back, else
    /// item `i` of all, one old subtask after the other, goes to subtask `i % parallelism`.
    pub fn list<T: Data>(&mut self, name: &str) -> Result<ListTable<T>> {
        let unchanged = self.restored.iter().all(|run| run.subtask().parallelism == self.subtask.parallelism);
        let SubtaskId { index, parallelism } = self.subtask;
        let mut all = 0u64;
        let mut items = Vec::new();
        self.items(name, StateKind::List, |from, item: T| {
            let mine = if unchanged {
                from.index == index
            } else {
                all % u64::from(parallelism) == u64::from(index)
            };
            all += 1;
            if mine {
                items.push(item);
            }
        })?;
        Ok(ListTable::new(name, items))
    }

    /// The items of a list state, those that fall to other subtasks too. Does not open it.
    pub fn items_of_all<T: Data>(&self, name: &str) -> Result<Vec<T>> {
        let schema = StateSchema { kind: StateKind::List, key: Schema::Unit, value: T::schema() };
        let mut items = Vec::new();
        self.for_each(name, &schema, KeyGroupRange::ALL, self.restored.iter(), |plan, input| {
            items.push(plan.value(input)?);
            Ok(())
        })?;
        Ok(items)
    }

    /// Opens a list of which every subtask gets all items, those of the first old subtask first.
    pub fn union_list<T: Data>(&mut self, name: &str) -> Result<UnionListTable<T>> {
        let mut items = Vec::new();
        self.items(name, StateKind::UnionList, |_, item: T| items.push(item))?;
        Ok(UnionListTable::new(name, items))
    }

    fn items<T: Data>(
        &mut self,
        name: &str,
        kind: StateKind,
        mut take: impl FnMut(SubtaskId, T),
    ) -> Result<()> {
        let schema = StateSchema { kind, key: Schema::Unit, value: T::schema() };
        self.admit(name, &schema)?;
        self.for_each(name, &schema, KeyGroupRange::ALL, self.restored.iter(), |plan, input| {
            take(plan.from, plan.value(input)?);
            Ok(())
        })
    }

    /// Opens a map that is the same in every subtask.
    pub fn broadcast<K: Data + Ord, V: Data>(&mut self, name: &str) -> Result<BroadcastTable<K, V>> {
        let schema = StateSchema { kind: StateKind::Broadcast, key: K::schema(), value: V::schema() };
        self.admit(name, &schema)?;
        let mut map = BTreeMap::new();
        // All copies are equal, so any will do; those that have the table at all are shared out evenly.
        let having: Vec<_> = self.restored.iter().filter(|run| run.section(name).is_some()).collect();
        let copy = having.get(self.subtask.index as usize % having.len().max(1)).copied();
        self.for_each(name, &schema, KeyGroupRange::ALL, copy.into_iter(), |plan, input| {
            let (key, value) = (plan.key(input)?, plan.value(input)?);
            if map.insert(key, value).is_some() {
                return Err(twice());
            }
            Ok(())
        })?;
        Ok(BroadcastTable::new(name, map))
    }

    /// Notes that the name is opened.
    fn admit(&mut self, name: &str, schema: &StateSchema) -> Result<()> {
        if let Some((_, before)) = self.opened.iter().find(|(opened, _)| opened == name) {
            return Err(self
                .refusal(format!("state '{name}' is opened twice"), before, schema, "first", "then")
                .mend("give each state of an operator its own name"));
        }
        self.opened.push((name.to_owned(), schema.clone()));
        Ok(())
    }

    fn for_each_keyed(
        &self,
        name: &str,
        schema: &StateSchema,
        entry: impl FnMut(&mut Plan, &mut Reader<'_>) -> Result<(), DecodeError>,
    ) -> Result<()> {
        self.for_each(name, schema, self.groups(), self.restored.iter(), entry)
    }

    /// Calls `entry` at the start of each stored entry of the name; it must read the whole entry.
    fn for_each<'a>(
        &self,
        name: &str,
        schema: &StateSchema,
        groups: KeyGroupRange,
        runs: impl Iterator<Item = &'a Arc<RunReader>>,
        mut entry: impl FnMut(&mut Plan, &mut Reader<'_>) -> Result<(), DecodeError>,
    ) -> Result<()> {
        for run in runs {
            let Some(section) = run.section(name) else { continue };
            let mut plan = self.plan(run, section, schema, groups)?;
            let wanted = if run.hashes_as_now() { groups } else { KeyGroupRange::ALL };
            for block in run.blocks(section, wanted) {
                let block = block?;
                plan.block = if run.hashes_as_now() { block.groups } else { KeyGroupRange::ALL };
                let mut input = Reader::new(block.bytes);
                let read = (0..block.entries).try_for_each(|_| entry(&mut plan, &mut input));
                read.and_then(|()| input.finish())
                    .map_err(|e| run.damaged_block(section, block.index, &e.to_string()))?;
            }
        }
        Ok(())
    }

    fn plan(
        &self,
        run: &RunReader,
        section: &Section,
        wanted: &StateSchema,
        groups: KeyGroupRange,
    ) -> Result<Plan> {
        let stored = section.schema();
        let refuse = |why: String| {
            self.refusal(
                format!("the stored state '{}' does not fit the one of the program: {why}", section.name()),
                stored,
                wanted,
                "stored",
                "program",
            )
            .at(run.place().to_owned())
            .mend("keep the types of this state, add a default to new fields, or give the state a new name to start it empty")
        };
        if stored.kind != wanted.kind {
            return Err(refuse(format!("it is {}, not {}", stored.kind, wanted.kind)));
        }
        let key = Evolution::new(&stored.key, &wanted.key).map_err(|e| refuse(misfit("keys", &e)))?;
        let value = Evolution::new(&stored.value, &wanted.value).map_err(|e| refuse(misfit("values", &e)))?;
        Ok(Plan { key, value, scratch: Vec::new(), from: run.subtask(), groups, block: groups })
    }

    fn refusal(&self, what: String, a: &StateSchema, b: &StateSchema, name_a: &str, name_b: &str) -> Error {
        let uid = self.restored.first().map(|run| format!("operator '{}': ", run.uid())).unwrap_or_default();
        let show = |s: &StateSchema| match s.key {
            Schema::Unit => format!("{} of\n{}", s.kind, s.value),
            _ => format!("{} from\n{}\nto\n{}", s.kind, s.key, s.value),
        };
        Error::state(format!("{uid}{what}\n{name_a}: {}\n{name_b}: {}", show(a), show(b)))
    }
}

/// How the entries of one section are read.
struct Plan {
    key: Evolution,
    value: Evolution,
    scratch: Vec<u8>,
    from: SubtaskId,
    /// The groups of this subtask.
    groups: KeyGroupRange,
    /// The groups of the block.
    block: KeyGroupRange,
}

impl Plan {
    fn key<T: Data>(&mut self, input: &mut Reader<'_>) -> Result<T, DecodeError> {
        self.key.decode(input, &mut self.scratch)
    }

    fn value<T: Data>(&mut self, input: &mut Reader<'_>) -> Result<T, DecodeError> {
        self.value.decode(input, &mut self.scratch)
    }

    /// Whether an entry whose key has this hash is this subtask's. Every subtask that owns a group of the block reads the block,
    /// so an entry within the block's groups is kept by exactly one of them.
    fn keep(&self, hash: u64) -> Result<bool, DecodeError> {
        let group = KeyGroup::of_hash(hash);
        if !self.block.contains(group) {
            return Err(DecodeError::new(format!(
                "a key hashes into key group {} and stands among the groups {}..{}",
                group.0, self.block.start, self.block.end
            )));
        }
        Ok(self.groups.contains(group))
    }
}

fn misfit(part: &str, why: &Incompatible) -> String {
    match why.path() {
        "" => format!("its {part}: {}", why.reason()),
        path => format!("its {part}, at {path}: {}", why.reason()),
    }
}

fn twice() -> DecodeError {
    DecodeError::new("a key is stored twice")
}

#[cfg(test)]
mod tests;
