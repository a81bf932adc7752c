//! Usage: sums saturate, parts never outgrow their whole, and repeating a report changes nothing.

#![no_main]

use hedgerow_gateway::wire::{
    dialect::Operation,
    usage::{self, Meter},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|reports: Vec<&[u8]>| {
    for operation in Operation::ALL {
        let mut meter = Meter::new(operation);
        for report in &reports {
            meter.add(report);
        }
        let once = meter.usage();
        if let Some(last) = reports.last() {
            meter.add(last);
            assert_eq!(meter.usage(), once, "a report that is repeated was added up");
            let _ = usage::from_answer(operation, last);
        }
    }
});
