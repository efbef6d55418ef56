//! Generated clusters, the same for a seed on every machine. Used by the tests and the benchmark.

#![allow(dead_code, reason = "each user needs only some of this")]
#![allow(clippy::unwrap_used, reason = "only tests and the benchmark use this")]

use interlock_placement::{
    AffinitySpec, AntiAffinitySpec, Cluster, ClusterSpec, GuestId, GuestSpec, HostSpec, HostState, Objective,
};

pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap()
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }
}

pub(crate) fn host(name: &str, ram_mib: u64, cpu_mc: u64) -> HostSpec {
    HostSpec {
        name: name.to_owned(),
        ram_mib,
        cpu_mc,
        disk_gib: None,
        net_mbps: None,
        rack: None,
        state: HostState::Up,
        ram_reserved_mib: 0,
        ram_overcommit_percent: 100,
        cpu_overcommit_percent: 100,
        storages: [].into(),
    }
}

pub(crate) fn guest(vmid: u32, ram_mib: u64, cpu_mc: u64, on: Option<&str>) -> GuestSpec {
    GuestSpec {
        vmid: GuestId(vmid),
        name: None,
        ram_mib,
        cpu_mc,
        disk_gib: 0,
        net_mbps: 0,
        ha_group: None,
        host: on.map(str::to_owned),
        storages: [].into(),
        pinned_to: [].into(),
        forbidden: [].into(),
        move_weight: 1,
    }
}

pub(crate) fn spec(hosts: Vec<HostSpec>, vms: Vec<GuestSpec>) -> ClusterSpec {
    ClusterSpec {
        hosts,
        vms,
        anti_affinity: Vec::new(),
        affinity: Vec::new(),
        use_rack_constraints: false,
        objective: Objective::default(),
    }
}

/// What a generated data centre is like.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) hosts: usize,
    pub(crate) guests: usize,
    /// How much of the RAM of the hosts that are left is used, in percent.
    pub(crate) fill: u64,
    /// How much of the CPU of the hosts that are left is used, in percent.
    pub(crate) cpu_fill: u64,
    /// What happens to the first host.
    pub(crate) first: HostState,
}

/// A data centre whose guests run within the limits of all hosts, before something happens to the first host.
pub(crate) fn data_centre(seed: u64, shape: Shape) -> Cluster {
    let mut numbers = Numbers::new(seed);
    loop {
        if let Some(cluster) = try_data_centre(&mut numbers, shape) {
            return cluster;
        }
    }
}

fn try_data_centre(numbers: &mut Numbers, shape: Shape) -> Option<Cluster> {
    const GIB: u64 = 1024;
    let sizes = [1, 2, 2, 4, 4, 4, 6, 8, 8, 8, 12, 16, 16, 24, 32, 48];
    let mut vms: Vec<GuestSpec> = (0..shape.guests)
        .map(|index| {
            let gib = numbers.pick(&sizes);
            let ram = gib * GIB + if numbers.chance(25) { 512 } else { 0 };
            let cpu = (gib * 250 + 250 * numbers.below(8)).max(500);
            guest(100 + u32::try_from(index).unwrap(), ram, cpu, None)
        })
        .collect();
    let left = if shape.first == HostState::Up {
        shape.hosts
    } else {
        shape.hosts - 1
    } as u64;
    let total = |amount: fn(&GuestSpec) -> u64, vms: &[GuestSpec]| vms.iter().map(amount).sum::<u64>();
    let ram = (total(|g| g.ram_mib, &vms) * 100 / shape.fill / left).next_multiple_of(GIB);
    let cpu = (total(|g| g.cpu_mc, &vms) * 100 / shape.cpu_fill / left).next_multiple_of(1000);
    let mut hosts: Vec<HostSpec> = (0..shape.hosts)
        .map(|index| {
            let mut host = host(&format!("pve{}", index + 1), ram, cpu);
            host.rack = Some(format!("rack{}", index % 4 + 1));
            host
        })
        .collect();
    // Every sixth guest or so belongs to a group of two or three replicas.
    let mut index = 0;
    while index + 3 < shape.guests {
        if numbers.chance(12) {
            let members = 2 + numbers.index(2);
            for member in 0..members {
                vms[index + member].ha_group = Some(format!("ha{index}"));
            }
            index += members;
        } else {
            index += 1;
        }
    }
    let mut order: Vec<usize> = (0..vms.len()).collect();
    order.sort_by_key(|v| std::cmp::Reverse(vms[*v].ram_mib));
    let mut used = vec![(0_u64, 0_u64); shape.hosts];
    for v in order {
        let fits: Vec<usize> = (0..shape.hosts)
            .filter(|h| used[*h].0 + vms[v].ram_mib <= ram && used[*h].1 + vms[v].cpu_mc <= cpu)
            .filter(|h| {
                let name = Some(&hosts[*h].name);
                !vms.iter()
                    .any(|o| o.ha_group.is_some() && o.ha_group == vms[v].ha_group && o.host.as_ref() == name)
            })
            .collect();
        if fits.is_empty() {
            return None;
        }
        let chosen = numbers.pick(&fits);
        used[chosen].0 += vms[v].ram_mib;
        used[chosen].1 += vms[v].cpu_mc;
        vms[v].host = Some(hosts[chosen].name.clone());
    }
    hosts[0].state = shape.first;
    Some(Cluster::new(spec(hosts, vms)).unwrap())
}

/// A cluster of up to 4 hosts and 8 guests with every kind of rule, small enough to try every placement.
pub(crate) fn small(seed: u64) -> ClusterSpec {
    let mut n = Numbers::new(seed);
    let host_count = 2 + n.index(3);
    let guest_count = 1 + n.index(8);
    let names: Vec<String> = (0..host_count).map(|h| format!("pve{}", h + 1)).collect();
    let load = 20 * guest_count as u64 / host_count as u64;
    let hosts: Vec<HostSpec> = names
        .iter()
        .map(|name| {
            let mut h = host(
                name,
                load / 2 + 8 + n.below(load + 20),
                4_000 + 1_000 * n.below(12),
            );
            h.rack = n.chance(80).then(|| format!("r{}", n.below(3)));
            h.state = match n.below(12) {
                0 => HostState::Down,
                1 => HostState::Maintenance,
                _ => HostState::Up,
            };
            h.disk_gib = n.chance(20).then(|| 50 + n.below(100));
            h.net_mbps = n.chance(10).then(|| 100 + n.below(1000));
            h.ram_overcommit_percent = n.pick(&[100, 100, 100, 120, 90]);
            h.cpu_overcommit_percent = n.pick(&[100, 200, 400]);
            h.ram_reserved_mib = n.pick(&[0, 0, 1, 3]);
            h.storages = if n.chance(85) {
                ["ceph".to_owned()].into()
            } else {
                [].into()
            };
            h
        })
        .collect();
    let vms: Vec<GuestSpec> = (0..guest_count)
        .map(|index| {
            let on = n.chance(85).then(|| names[n.index(host_count)].as_str());
            let mut g = guest(
                101 + u32::try_from(index).unwrap(),
                1 + n.below(30),
                250 * n.below(16),
                on,
            );
            g.disk_gib = n.pick(&[0, 10, 30]);
            g.net_mbps = n.pick(&[0, 50, 200]);
            if n.chance(25) {
                g.ha_group = Some(n.pick(&["db", "web"]).to_owned());
            }
            if n.chance(10) {
                g.storages = ["ceph".to_owned()].into();
            }
            if n.chance(8) {
                g.pinned_to = (0..2).map(|_| names[n.index(host_count)].clone()).collect();
            }
            if n.chance(8) {
                g.forbidden = [names[n.index(host_count)].clone()].into();
            }
            g.move_weight = n.pick(&[1, 1, 1, 1, 2, 5]);
            g
        })
        .collect();
    let mut spec = spec(hosts, vms);
    if guest_count >= 4 && n.chance(30) {
        spec.affinity.push(AffinitySpec {
            name: "pair".to_owned(),
            vmids: [GuestId(101), GuestId(103)].into(),
        });
    }
    if guest_count >= 5 && n.chance(30) {
        spec.anti_affinity.push(AntiAffinitySpec {
            name: "spread".to_owned(),
            vmids: [GuestId(102), GuestId(104), GuestId(105)].into(),
            max_per_host: 1 + u32::from(n.chance(50)),
            max_per_rack: n.chance(50).then_some(2),
        });
    }
    spec.use_rack_constraints = n.chance(15);
    if n.chance(30) {
        spec.objective.moves.migrated_gib = n.below(3);
        spec.objective.balance.cpu = n.pick(&[0, 50, 100]);
    }
    spec
}
